// The committed starting points of runs: recipes/*.json, compiled in.
#pragma once

#include <string_view>

#include "settings/choices.h"

namespace fovea {

/// The recipe of a task on a data set, as JSON. CIFAR-10 and CIFAR-100 share one, and photographs
/// have one whether they lie in folders, tar files or packs.
[[nodiscard]] std::string_view recipe_of(std::string_view dataset, TaskKind task);

}  // namespace fovea
