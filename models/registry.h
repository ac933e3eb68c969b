// Models by name. A name is parsed, not looked up: family, size, patch and image size in timm's
// manner, so vit_tiny_patch4_32, deit_small_distilled_patch16_224 and vit_base_patch8_32x48 all
// work. Names of timm's that carry further settings (models/timm_presets.h) are looked up, for any
// patch and image size as well.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/model.h"

namespace fovea {

struct ModelFlag;

/// The common model names, for --help and for tests that visit every model.
[[nodiscard]] std::vector<std::string> model_names();
/// These and all other names of ViTs and DeiTs in timm.
[[nodiscard]] std::vector<std::string> all_model_names();

/// The settings of a name: "family" and the configuration keys. Throws with the nearest known name.
[[nodiscard]] nlohmann::json preset(std::string_view name);

/// The task of the model of that name. Throws like preset().
[[nodiscard]] TaskKind task_of(std::string_view model);
/// The task of a family ("vit"); empty if there is no such family.
[[nodiscard]] std::optional<TaskKind> task_of_family(std::string_view family);
[[nodiscard]] std::vector<std::string> family_names();
/// The settings that models of a task, or of all, offer as flags (models/config_fields.h).
[[nodiscard]] std::vector<ModelFlag> model_flags(std::optional<TaskKind> task = {});

/// Makes the model of that name. `overrides` is null or an object with keys that replace settings
/// of the preset ({"num_classes": 10, "img_size": [32, 48]}). Throws on unknown keys and invalid
/// values. Initial values depend only on the seed and the parameters' names.
[[nodiscard]] std::unique_ptr<Model> make_model(const std::string& name,
                                                const nlohmann::json& overrides,
                                                std::uint64_t seed = 0, TensorOptions options = {});

/// Makes a model from a whole configuration (ModelInfo::config, a golden file's config with
/// "family"). `name` becomes info().name; if empty, the family's name does.
[[nodiscard]] std::unique_ptr<Model> make_model_from_config(const nlohmann::json& config,
                                                            std::uint64_t seed = 0,
                                                            TensorOptions options = {},
                                                            const std::string& name = {});

/// Makes a model with the same settings and new initial values.
[[nodiscard]] std::unique_ptr<Model> make_model_like(const Model& model, std::uint64_t seed = 0);

}  // namespace fovea
