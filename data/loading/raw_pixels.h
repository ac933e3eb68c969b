// Pixels of a batch that become the model's input on its device, and what makes them that.
#pragma once

#include <vector>

#include "data/augment/erase.h"
#include "data/normalization.h"
#include "engine/tensor.h"

namespace fovea {

/// What is left to do to the pixels of a batch, in the form of ops::PixelFinish. Boxes and draws
/// are those that a loader without raw pixels has.
struct RawPixels {
  Tensor levels;          ///< normalisation
  Tensor erased, fills;   ///< boxes by row, and what fills all of them
  Tensor mixed, weights;  ///< by row; undefined until the batch is mixed
};

/// Of a batch with these boxes in its rows.
[[nodiscard]] RawPixels raw_pixels(const Normalization& normalization,
                                   const std::vector<std::vector<Erasure>>& erased);

}  // namespace fovea
