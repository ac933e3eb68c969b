// Looking at every image of a data set once.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace fovea {

/// Decodes all images, on all threads, and checks what checksums there are. `on_progress` is told
/// how many are done and stops by false; what was found until then is returned. In order.
[[nodiscard]] std::vector<BrokenImage> verify_dataset(
    const Dataset& dataset, const std::function<bool(std::int64_t done)>& on_progress = {});

}  // namespace fovea
