// The square crop of ADM (Dhariwal and Nichol 2021) and DiT, which the published latents and
// reference statistics of ImageNet are made with.
#pragma once

#include <vector>

#include "data/geometry/geometry.h"

namespace fovea {

/// The moves that make a square of `side` pixels: halving by Pillow's box filter while the shorter
/// side is at least 2 side, then a bicubic resize of the shorter side to `side`, then the centre.
[[nodiscard]] std::vector<Geometry> adm_crop_moves(ImageSize image, std::int64_t side);

/// The side of a square; throws unless `size` is one.
[[nodiscard]] std::int64_t square_side(ImageSize size);

}  // namespace fovea
