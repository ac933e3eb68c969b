// Checks every image of a data set.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace fovea {

/// Decodes all images on all threads and verifies existing checksums. `on_progress` receives the
/// number of finished images and stops by returning false; the result then contains the images
/// found so far. In order of index.
[[nodiscard]] std::vector<BrokenImage> verify_dataset(
    const Dataset& dataset, const std::function<bool(std::int64_t done)>& on_progress = {});

}  // namespace fovea
