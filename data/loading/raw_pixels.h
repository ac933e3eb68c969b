// What is left to do to the pixels of a batch that become values on the model's device.
#pragma once

#include <vector>

#include "data/augment/erase.h"
#include "data/loading/batch.h"
#include "data/normalization.h"

namespace fovea {

/// For a batch with these boxes in its rows.
[[nodiscard]] RawPixels raw_pixels(const Normalization& normalization,
                                   const std::vector<std::vector<Erasure>>& erased);

}  // namespace fovea
