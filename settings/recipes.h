// The committed starting points of runs: recipes/*.json, compiled in.
#pragma once

#include <string_view>

namespace fovea {

/// The recipe of a data set, as JSON. CIFAR-10 and CIFAR-100 share one, and photographs have one
/// whether they lie in folders, tar files or packs.
[[nodiscard]] std::string_view recipe_of(std::string_view dataset);

}  // namespace fovea
