// Filling hidden patches without learning anything: what a masked autoencoder must be better than.
#pragma once

#include <cstdint>

#include "engine/tensor.h"

namespace fovea {

/// images f32 [B, C, H, W] on the CPU, hidden [B, N] as Masking::hidden, N square patches of
/// `patch_size` pixels. Each hidden pixel becomes the mean of the nearest visible ones in the eight
/// directions of the compass, weighted by 1 / distance^2; where it sees none, of all visible
/// pixels. Visible pixels stay. Throws where an image has none
/// or is not made of whole patches.
[[nodiscard]] Tensor fill_holes(const Tensor& images, const Tensor& hidden,
                                std::int64_t patch_size);

}  // namespace fovea
