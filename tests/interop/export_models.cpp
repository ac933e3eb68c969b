// export_models FOLDER [NAME...]: models as ONNX files, and what they compute: FOLDER/NAME.onnx and
// NAME.1.safetensors, ... with the inputs and outputs of batches of 1 and 3, of each image size if
// the model takes any. `export_models --list` prints the names of the registry. Without names, the
// models of the golden files, which have each setting at least once; otherwise those of the
// registry. onnx_models.py runs the files elsewhere.
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "engine/autograd.h"
#include "engine/base/error.h"
#include "engine/base/text.h"
#include "engine/formats/safetensors.h"
#include "export/export_model.h"
#include "export/onnx_file.h"
#include "models/registry.h"
#include "tests/export/exported.h"

namespace {

using namespace fovea;
namespace fs = std::filesystem;

void write_trial(const fs::path& path, const ExportedPass& pass, const ExportTrial& trial) {
  const NoGrad no_grad;
  const std::vector<Tensor> outputs = pass.forward(trial.inputs);
  std::map<std::string, Tensor> tensors;
  for (const auto& [name, value] : trial.given) tensors["in." + name] = value;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    tensors["out." + pass.outputs[i].name] = outputs[i].contiguous();
  }
  write_safetensors(path, tensors, {});
}

void write_model_and_trials(const fs::path& folder, const std::string& name, Model& model) {
  const ExportedPass pass = exported_pass(model);
  NewFile file(folder / (name + ".onnx"));
  write_model(file, export_pass(pass, name, {.opset = 20, .version = "test"}));
  file.finish();
  int count = 0;
  for (const std::int64_t batch : {1, 3}) {
    for (const ExportTrial& trial : random_trials(pass, batch)) {
      write_trial(folder / concat(name, '.', ++count, ".safetensors"), pass, trial);
    }
  }
  std::cout << name << std::endl;
}

/// The model with two blocks, narrow heads and few classes. Detectors and VAEs get small images.
std::unique_ptr<Model> small_model(const std::string& name) {
  nlohmann::json settings = preset(name);
  const bool has_pegs = settings.contains("peg_positions");  // behind one of the first six blocks
  if (settings.contains("depth")) settings["depth"] = has_pegs ? 6 : 2;
  if (settings.contains("num_heads") && settings["num_heads"].is_number() &&
      settings.contains("embed_dim")) {
    settings["embed_dim"] = 16 * settings["num_heads"].get<std::int64_t>();
  }
  if (settings.value("num_classes", 0) > 10) settings["num_classes"] = 10;
  const std::string family = settings["family"];
  if (family == "detr" || family == "deformable_detr" || family == "vae") settings["img_size"] = 64;
  return make_model_from_config(settings, 1, {}, name);
}

int run(int argc, char** argv) {
  check(argc > 1, "usage: export_models FOLDER [NAME...]");
  if (std::string_view(argv[1]) == "--list") {
    for (const std::string& name : all_model_names()) std::cout << name << '\n';
    return 0;
  }
  const fs::path folder = argv[1];
  fs::create_directories(folder);
  if (argc == 2) {
    for (const auto& golden :
         tests::models_of_goldens({"vit", "pit", "deit", "cpvt", "pervit", "mae", "depth", "detr",
                                   "ddetr", "dit", "vae"})) {
      tests::disturb(*golden.model);
      write_model_and_trials(folder, golden.name, *golden.model);
    }
  }
  for (int i = 2; i < argc; ++i) {
    const auto model = small_model(argv[i]);
    tests::disturb(*model, 0.02);  // wide models become unstable with more
    write_model_and_trials(folder, argv[i], *model);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  return run(argc, argv);
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
