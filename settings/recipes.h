// The committed starting points of runs: recipes/*.json, compiled in.
#pragma once

#include <string_view>

namespace fovea {

/// Of a recipe by its name, "imagenet_deit_tiny": JSON. Throws where there is none.
[[nodiscard]] std::string_view recipe_text(std::string_view name);

}  // namespace fovea
