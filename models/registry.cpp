// Construction of a model from its configuration.
#include "models/registry.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "engine/base/files.h"
#include "engine/base/json.h"
#include "engine/base/names.h"
#include "engine/base/system_memory.h"
#include "engine/base/text.h"
#include "models/config_fields.h"
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

template <class M, class Config>
std::unique_ptr<Model> construct(const ModelInfo& info, const Config& c, const BuildRequest& r) {
  return std::make_unique<M>(info, c, r.seed, r.options);
}

template <>
std::unique_ptr<Model> construct<ViT>(const ModelInfo& info, const ViTConfig& c,
                                      const BuildRequest& r) {
  if (c.permutation) return std::make_unique<PermutedViT>(info, c, r.seed, r.options);
  return std::make_unique<ViT>(info, c, r.seed, r.options);
}

/// A DeiT without distillation token is a ViT with the same settings.
template <>
std::unique_ptr<Model> construct<DeiT>(const ModelInfo& info, const DeiTConfig& c,
                                       const BuildRequest& r) {
  if (c.distilled) return std::make_unique<DeiT>(info, c, r.seed, r.options);
  json settings = write_config(c);
  settings.erase("distilled");
  return construct<ViT>(info, read_vit_config(settings), r);
}

/// A family of models: its name in configurations, its task, its constructor and its flags.
struct Family {
  std::string name;
  TaskKind task;
  std::unique_ptr<Model> (*build)(const json& config, const BuildRequest& request);
  std::vector<ModelFlag> flags;
};

/// The family of models M, whose configurations `read` reads.
template <class M, auto read>
Family family(const char* name) {
  using Config = decltype(read(json()));
  const auto build = [](const json& config, const BuildRequest& r) {
    const Config c = read(config);
    return construct<M>(info_of(r, write_config(c)), c, r);
  };
  Config usual;
  return {name, M::kTask, build, config_fields(usual).flags()};
}

const std::vector<Family>& families() {
  static const std::vector<Family> all{family<ViT, read_vit_config>("vit"),
                                       family<ViT, read_pit_config>("pit"),
                                       family<DeiT, read_deit_config>("deit"),
                                       family<CPVT, read_cpvt_config>("cpvt"),
                                       family<PerViT, read_pervit_config>("pervit"),
                                       family<Mae, read_mae_config>("mae"),
                                       family<Dit, read_dit_config>("dit"),
                                       family<Vae, read_vae_config>("vae"),
                                       family<DepthTransformer, read_depth_config>("depth"),
                                       family<Detr, read_detr_config>("detr"),
                                       family<DeformableDetr, read_deformable_detr_config>("ddetr"),
                                       family<LinearModel, read_linear_config>("linear")};
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

std::vector<ModelFlag> model_flags(std::optional<TaskKind> task) {
  std::vector<ModelFlag> flags;
  std::set<std::string_view> keys;
  for (const Family& family : families()) {
    if (task && family.task != *task) continue;
    for (const ModelFlag& flag : family.flags) {
      if (keys.insert(flag.key).second) flags.push_back(flag);
    }
  }
  return flags;
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
