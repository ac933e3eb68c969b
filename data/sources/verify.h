// Checks every image of a data set.
#pragma once

#include <cstdint>
#include <vector>

#include "data/dataset.h"

namespace fovea {

/// Decodes the images [first, end) on all threads and verifies existing checksums. Returns the
/// broken ones in order of index.
[[nodiscard]] std::vector<BrokenImage> verify_images(const Dataset& dataset, std::int64_t first,
                                                     std::int64_t end);
/// The same for all images.
[[nodiscard]] inline std::vector<BrokenImage> verify_dataset(const Dataset& dataset) {
  return verify_images(dataset, 0, dataset.size());
}

}  // namespace fovea
