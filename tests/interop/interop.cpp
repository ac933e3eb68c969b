// Writes and copies files for the Python checks in this folder: see check_checkpoints.py,
// check_events.py, transformers_models.py, vae_files.py and detection.py.
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "data/image.h"
#include "engine/autograd.h"
#include "engine/base/error.h"
#include "engine/base/json.h"
#include "engine/formats/events.h"
#include "engine/formats/safetensors.h"
#include "models/checkpoints/pretrained.h"
#include "models/checkpoints/vae_file.h"
#include "models/classifier.h"
#include "models/detection/matching.h"
#include "models/model_as.h"
#include "models/registry.h"

namespace {

using namespace fovea;

/// x contains 0, 1/4, 2/4, ...; with every dtype, a transposed view, a scalar and an empty tensor.
void write_tensors(const std::string& path) {
  std::vector<double> values(6);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i) / 4;
  std::map<std::string, Tensor> tensors;
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16, DType::i64, DType::u8}) {
    const std::string name(to_string(dtype));
    const Tensor x = from_values({2, 3}, values, {dtype, {}});
    tensors[name] = x;
    tensors[name + ".transposed"] = x.alias({3, 2}, {1, 3});
    tensors[name + ".scalar"] = scalar(3, {dtype, {}});
    tensors[name + ".empty"] = empty({2, 0}, {dtype, {}});
  }
  write_safetensors(path, tensors, {{"note", "caf\u00e9 \"quoted\"\n"}});
}

void write_events(const std::string& folder) {
  EventWriter writer(folder);
  for (int step = 0; step < 100; ++step) writer.scalar("train/loss", 1.0 / (step + 1), step);
  writer.text("config", "**bold** text", 7);
  Image image(4, 6);
  *image.at(1, 2) = 255;
  writer.image("confusion", encode_png(image), 9);
  writer.flush();
}

/// A run that logs up to step 100 and is resumed from its state at step 60.
void write_killed_run(const std::string& folder) {
  EventWriter killed(folder, 0);
  for (int step = 1; step <= 100; ++step) killed.scalar("train/loss", 1, step);
  killed.flush();
  EventWriter continued(folder, 60);
  for (int step = 60; step <= 120; ++step) continued.scalar("train/loss", 2, step);
  continued.flush();
}

/// Logits of the tensor "images", or pooled tokens without a head. `config` is a JSON object for
/// weights that do not describe their model; else empty.
void write_logits(const std::string& weights, const std::string& images, const std::string& output,
                  const std::string& config) {
  std::unique_ptr<Model> model;
  if (config.empty()) {
    model = load_model(weights);
  } else {
    model = make_model_from_config(parse_json(config));
    for (const std::string& note : load_weights(*model, weights).notes) {
      std::printf("note: %s\n", note.c_str());
    }
  }
  const NoGrad no_grad;
  Context ctx;
  const Tensor logits = model_as<Classifier>(*model)
                            .forward(read_safetensors(images).tensors.at("images"), ctx)
                            .logits;
  write_safetensors(output, {{"logits", logits}}, {{"config", model->info().config}});
}

/// The moments of the tensor "images" and the decoded tensor "latents"; prints the VAE's hash last.
void write_vae_outputs(const std::string& weights, const std::string& inputs,
                       const std::string& output) {
  const LoadedVae vae = load_vae(weights);
  for (const std::string& note : vae.notes) std::printf("note: %s\n", note.c_str());
  const NoGrad no_grad;
  const Context ctx;
  const TensorMap given = read_safetensors(inputs).tensors;
  write_safetensors(output, {{"moments", vae.model->moments(given.at("images"), ctx)},
                             {"images", vae.model->decode(given.at("latents"), ctx)}});
  std::printf("%s\n", vae.hash.c_str());
}

/// Matches each tensor [queries, targets] of costs; writes the pairs, [n, 2], under the same names.
void write_matches(const std::string& costs, const std::string& output) {
  std::map<std::string, Tensor> matches;
  for (const auto& [name, cost] : read_safetensors(costs).tensors) {
    std::vector<double> values;
    for (const MatchedPair& pair : match(cost.to_vector(), cost.size(0), cost.size(1))) {
      values.push_back(static_cast<double>(pair.query));
      values.push_back(static_cast<double>(pair.target));
    }
    const auto count = static_cast<std::int64_t>(values.size() / 2);
    matches[name] = from_values({count, 2}, values, {DType::i64, {}});
  }
  write_safetensors(output, matches);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + argc);
  try {
    if (args.size() == 2 && args[0] == "tensors") {
      write_tensors(args[1]);
    } else if (args.size() == 2 && args[0] == "events") {
      write_events(args[1]);
    } else if (args.size() == 2 && args[0] == "killed") {
      write_killed_run(args[1]);
    } else if (args.size() == 3 && args[0] == "copy") {
      const SafetensorsFile file = read_safetensors(args[1]);
      write_safetensors(args[2], file.tensors, file.metadata);
    } else if ((args.size() == 4 || args.size() == 5) && args[0] == "logits") {
      write_logits(args[1], args[2], args[3], args.size() == 5 ? args[4] : "");
    } else if (args.size() == 4 && args[0] == "vae") {
      write_vae_outputs(args[1], args[2], args[3]);
    } else if (args.size() == 3 && args[0] == "match") {
      write_matches(args[1], args[2]);
    } else {
      fail(
          "usage: interop tensors FILE | events FOLDER | killed FOLDER | copy FROM TO | ",
          "logits WEIGHTS IMAGES OUTPUT [CONFIG] | vae WEIGHTS INPUTS OUTPUT | match COSTS OUTPUT");
    }
  } catch (const Error& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
  return 0;
}
