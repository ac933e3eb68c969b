// Recipes: the committed base configurations recipes/*.json, compiled into the programs.
#pragma once

#include <string_view>

namespace fovea {

/// JSON text of a recipe by its name, such as "imagenet_deit_tiny". Throws if there is none.
[[nodiscard]] std::string_view recipe_text(std::string_view name);

}  // namespace fovea
