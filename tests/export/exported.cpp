// Golden files as models, and models as files.
#include "tests/export/exported.h"

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "engine/autograd.h"
#include "engine/base/temporary_folder.h"
#include "engine/formats/safetensors.h"
#include "engine/random.h"
#include "export/export_model.h"
#include "export/onnx_file.h"
#include "models/registry.h"
#include "ops/arithmetic.h"

namespace fovea::tests {
namespace {

using nlohmann::json;

/// What a golden file's configuration has beside that of its model: the loss, the images.
std::vector<std::string> other_keys(const std::string& family) {
  if (family == "depth") return {};
  if (family == "detr") return {"sizes", "boxes"};
  if (family == "ddetr") return {"sizes", "boxes", "pre_norm", "eos_coef"};
  if (family == "dit") return {"cfg_scale"};
  return {"loss", "smoothing", "distillation_type", "alpha", "tau", "init", "bce_target_thresh"};
}

std::unique_ptr<Model> model_of(const std::filesystem::path& path) {
  const Metadata metadata = list_safetensors(path).metadata;
  json config = json::parse(metadata.at("config"));
  const std::string& family = metadata.at("family");
  for (const std::string& key : other_keys(family)) config.erase(key);
  config["family"] = family;
  if (family == "dit") {
    config["img_size"] = config["input_size"];
    config["in_chans"] = config["in_channels"];
    config["embed_dim"] = config["hidden_size"];
    for (const char* const official : {"input_size", "in_channels", "hidden_size"}) {
      config.erase(official);
    }
  }
  if (config.contains("enc_layers")) config["img_size"] = {64, 96};
  return make_model_from_config(config, 1);
}

}  // namespace

void disturb(Model& model, double deviation) {
  const NoGrad no_grad;
  std::uint64_t seed = 0;
  const auto noise = [&](const Tensor& t) {
    return rand_normal(t.shape(), {0, deviation}, {++seed});
  };
  for (const Parameter& p : model.store().parameters()) {
    if (is_float(p.tensor.dtype())) p.tensor.copy_(p.tensor + noise(p.tensor));
  }
  for (const Parameter& p : model.store().buffers()) {  // variances stay positive
    if (is_float(p.tensor.dtype())) p.tensor.copy_(p.tensor + ops::abs(noise(p.tensor)));
  }
}

onnx::ModelProto read_back(const onnx::ModelProto& model) {
  const TemporaryFolder folder;
  NewFile file(folder / "model.onnx");
  write_model(file, model);
  file.finish();
  return onnx::read_model(folder / "model.onnx");
}

onnx::ModelProto file_of(Model& model, std::int64_t opset) {
  return read_back(export_pass(exported_pass(model), model.info().name, {opset, "1"}));
}

std::vector<GoldenModel> models_of_goldens(const std::set<std::string>& families) {
  std::vector<GoldenModel> models;
  for (const auto& entry : std::filesystem::directory_iterator(std::getenv("FOVEA_GOLDEN"))) {
    const std::string name = entry.path().stem();
    const bool is_wanted = families.contains(name.substr(0, name.find('_')));
    if (!is_wanted || entry.path().extension() != ".safetensors") continue;
    if (name.find("diffusion") != std::string::npos) continue;  // samplers of the same models
    models.push_back({name, model_of(entry.path())});
  }
  return models;
}

}  // namespace fovea::tests
