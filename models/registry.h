// Models by name. A name is read, not looked up: family, size, patch and image size in timm's
// manner, so vit_tiny_patch4_32, deit_small_distilled_patch16_224 and vit_base_patch8_32x48 all
// work.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/model.h"

namespace fovea {

/// The customary names, for --help and for tests that visit every model.
[[nodiscard]] std::vector<std::string> model_names();

/// The settings behind a name: "family" and the configuration keys. Throws with the nearest
/// known name.
[[nodiscard]] nlohmann::json preset(std::string_view name);

/// What the model of that name is for. Throws as preset().
[[nodiscard]] TaskKind task_of(std::string_view model);
/// The same of a family's models ("vit"); nothing where there is no such family.
[[nodiscard]] std::optional<TaskKind> task_of_family(std::string_view family);
[[nodiscard]] std::vector<std::string> family_names();

/// The model of that name. `overrides` is an object whose keys replace settings of the preset
/// ({"num_classes": 10, "img_size": [32, 48]}); may be null. Unknown keys and impossible values
/// throw. Initial values depend on the seed and the parameters' names only.
[[nodiscard]] std::unique_ptr<Model> make_model(const std::string& name,
                                                const nlohmann::json& overrides,
                                                std::uint64_t seed = 0, TensorOptions options = {});

/// The same from a whole configuration (ModelInfo::config, a golden file's config with "family").
/// `name` is what info().name shall be; the family's when empty.
[[nodiscard]] std::unique_ptr<Model> make_model_from_config(const nlohmann::json& config,
                                                            std::uint64_t seed = 0,
                                                            TensorOptions options = {},
                                                            const std::string& name = {});

/// A model of the same settings, with initial values of its own.
[[nodiscard]] std::unique_ptr<Model> make_model_like(const Model& model, std::uint64_t seed = 0);

}  // namespace fovea
