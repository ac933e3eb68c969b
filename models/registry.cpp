// Construction of a model from its configuration.
#include "models/registry.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/base/files.h"
#include "engine/base/json.h"
#include "engine/base/names.h"
#include "engine/base/system_memory.h"
#include "engine/base/text.h"
#include "models/config_reader.h"
#include "models/cpvt.h"
#include "models/deformable_detr.h"
#include "models/deit.h"
#include "models/depth_transformer.h"
#include "models/detr.h"
#include "models/dit.h"
#include "models/linear_model.h"
#include "models/mae.h"
#include "models/model_as.h"
#include "models/permuted_vit.h"
#include "models/pervit.h"
#include "models/shapes_only.h"
#include "models/vae.h"
#include "models/vit.h"

namespace fovea {
namespace {

using nlohmann::json;

struct BuildRequest {
  std::string family, name;
  TaskKind task;
  std::uint64_t seed = 0;
  TensorOptions options;
};

ModelInfo info_of(const BuildRequest& request, json config) {
  config["family"] = request.family;
  ModelInfo info;
  info.name = request.name.empty() ? request.family : request.name;
  info.task = request.task;
  info.img_size = config["img_size"].get<std::array<std::int64_t, 2>>();
  const char* const channels = config.contains("in_chans") ? "in_chans" : "in_channels";
  info.in_chans = config[channels].get<std::int64_t>();
  info.num_classes = config.value("num_classes", std::int64_t{0});
  info.config = json_text(config);
  return info;
}

std::unique_ptr<Model> build_vit(const json& config, const BuildRequest& r) {
  json settings = config;
  if (r.family == "pit" && !config.contains("patch_size")) settings["patch_size"] = 1;
  const ViTConfig c = read_vit_config(settings);
  const ModelInfo info = info_of(r, to_json(c));
  if (c.permutation) return std::make_unique<PermutedViT>(info, c, r.seed, r.options);
  return std::make_unique<ViT>(info, c, r.seed, r.options);
}

/// A DeiT without distillation token is a ViT with the same settings.
std::unique_ptr<Model> build_deit(const json& config, const BuildRequest& r) {
  const DeiTConfig c = read_deit_config(config);
  const ModelInfo info = info_of(r, to_json(c));
  if (c.distilled) return std::make_unique<DeiT>(info, c, r.seed, r.options);
  ViTConfig plain;
  plain.image = c.image;
  plain.encoder = c.encoder;
  plain.head.num_classes = c.num_classes;
  plain.head.drop_rate = c.drop_rate;
  plain.tokens.pos_drop_rate = c.pos_drop_rate;
  return std::make_unique<ViT>(info, plain, r.seed, r.options);
}

std::unique_ptr<Model> build_pervit(const json& config, const BuildRequest& r) {
  const PerViTConfig c = read_pervit_config(config);
  return std::make_unique<PerViT>(info_of(r, to_json(c)), c, r.seed, r.options);
}

std::unique_ptr<Model> build_cpvt(const json& config, const BuildRequest& r) {
  const CPVTConfig c = read_cpvt_config(config);
  return std::make_unique<CPVT>(info_of(r, to_json(c)), c, r.seed, r.options);
}

std::unique_ptr<Model> build_mae(const json& config, const BuildRequest& r) {
  const MaeConfig c = read_mae_config(config);
  return std::make_unique<Mae>(info_of(r, to_json(c)), c, r.seed, r.options);
}

std::unique_ptr<Model> build_dit(const json& config, const BuildRequest& r) {
  const DitConfig c = read_dit_config(config);
  return std::make_unique<Dit>(info_of(r, to_json(c)), c, r.seed, r.options);
}

std::unique_ptr<Model> build_vae(const json& config, const BuildRequest& r) {
  const VaeConfig c = read_vae_config(config);
  return std::make_unique<Vae>(info_of(r, to_json(c)), c, r.seed, r.options);
}

std::unique_ptr<Model> build_depth(const json& config, const BuildRequest& r) {
  const DepthConfig c = read_depth_config(config);
  return std::make_unique<DepthTransformer>(info_of(r, to_json(c)), c, r.seed, r.options);
}

std::unique_ptr<Model> build_detr(const json& config, const BuildRequest& r) {
  const DetrConfig c = read_detr_config(config);
  return std::make_unique<Detr>(info_of(r, to_json(c)), c, r.seed, r.options);
}

std::unique_ptr<Model> build_ddetr(const json& config, const BuildRequest& r) {
  const DeformableDetrConfig c = read_deformable_detr_config(config);
  return std::make_unique<DeformableDetr>(info_of(r, to_json(c)), c, r.seed, r.options);
}

std::unique_ptr<Model> build_linear(const json& config, const BuildRequest& r) {
  const LinearModelConfig c = read_linear_config(config);
  return std::make_unique<LinearModel>(info_of(r, to_json(c)), c, r.seed, r.options);
}

/// A family of models: its name in configurations, its task, and its constructor.
struct Family {
  std::string name;
  TaskKind task;
  std::unique_ptr<Model> (*build)(const json& config, const BuildRequest& request);
};

const std::vector<Family>& families() {
  static const std::vector<Family> all{{"vit", TaskKind::classification, build_vit},
                                       {"pit", TaskKind::classification, build_vit},
                                       {"deit", TaskKind::classification, build_deit},
                                       {"cpvt", TaskKind::classification, build_cpvt},
                                       {"pervit", TaskKind::classification, build_pervit},
                                       {"mae", TaskKind::masked_autoencoding, build_mae},
                                       {"dit", TaskKind::diffusion, build_dit},
                                       {"vae", TaskKind::autoencoding, build_vae},
                                       {"depth", TaskKind::depth, build_depth},
                                       {"detr", TaskKind::detection, build_detr},
                                       {"ddetr", TaskKind::detection, build_ddetr},
                                       {"linear", TaskKind::classification, build_linear}};
  return all;
}

const Family* find_family(std::string_view name) {
  const auto found = std::find_if(families().begin(), families().end(),
                                  [&](const Family& family) { return family.name == name; });
  return found == families().end() ? nullptr : &*found;
}

/// Throws if the model's parameters do not fit into this machine's memory, before allocating any.
void require_memory(const Family& family, const json& settings, const BuildRequest& request) {
  const std::int64_t available = available_memory();
  if (available == 0 || !request.options.device.is_cpu() || ShapesOnly::current() != nullptr)
    return;
  const ShapesOnly shapes("model " + (request.name.empty() ? request.family : request.name),
                          available);
  static_cast<void>(family.build(settings, request));
}

}  // namespace

std::unique_ptr<Model> make_model(const std::string& name, const json& overrides,
                                  std::uint64_t seed, TensorOptions options) {
  json config = preset(name);
  if (!overrides.is_null()) {
    check(overrides.is_object(), "make_model: overrides: got ", json_text(overrides),
          ", expected a JSON object");
    check(!overrides.contains("family"), "make_model: the family is fixed by the name ", name,
          " and cannot be overridden");
    const auto backbone = overrides.find("backbone");
    if (backbone != overrides.end() && *backbone != kResNet) drop_resnet_settings(config);
    config.update(overrides);
  }
  return make_model_from_config(config, seed, options, name);
}

std::unique_ptr<Model> make_model_like(const Model& model, std::uint64_t seed) {
  return make_model_from_config(json::parse(model.info().config), seed, {}, model.info().name);
}

std::unique_ptr<Model> make_model_from_config(const json& config, std::uint64_t seed,
                                              TensorOptions options, const std::string& name) {
  check(config.is_object() && config.contains("family") && config["family"].is_string(),
        "model config: key family is missing");
  check(options.dtype == DType::f32 || options.dtype == DType::f64, "model ", name,
        ": parameters are f32 or f64, got ", options.dtype,
        "; bf16 applies to activations only (Context::activations)");
  json settings = config;
  settings.erase("family");
  const auto name_of_family = config["family"].get<std::string>();
  const Family* const family = find_family(name_of_family);
  check(family != nullptr, "model config: family ", name_of_family, " is unknown",
        did_you_mean(name_of_family, family_names()));
  const BuildRequest request{family->name, name, family->task, seed, options};
  require_memory(*family, settings, request);
  return family->build(settings, request);
}

std::vector<std::string> family_names() {
  std::vector<std::string> names;
  for (const Family& family : families()) names.push_back(family.name);
  return names;
}

std::optional<TaskKind> task_of_family(std::string_view family) {
  const Family* const found = find_family(family);
  return found == nullptr ? std::nullopt : std::optional(found->task);
}

TaskKind task_of(std::string_view model) {
  return *task_of_family(preset(model).at("family").get<std::string>());
}

void refuse_kind(const ModelInfo& model, TaskKind expected) {
  check(model.task != expected, model.name, " is declared as ", noun_of(expected),
        ", but its class is not");
  std::vector<std::string> fit;
  for (const Family& family : families()) {
    if (family.task == expected) fit.push_back(family.name);
  }
  fail(model.name, " is ", noun_of(model.task), "; expected ", noun_of(expected), " (family ",
       join(fit, ", "), ")");
}

}  // namespace fovea
