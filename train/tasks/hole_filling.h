// Inpainting baseline without learning, the reference for masked autoencoders.
#pragma once

#include <cstdint>

#include "engine/tensor.h"

namespace fovea {

/// Fills hidden patches of images f32 [B, C, H, W] on the CPU; hidden [B, N] as in Masking::hidden,
/// N square patches of `patch_size` pixels. Each hidden pixel becomes the mean of the nearest
/// visible pixels in eight directions, weighted by 1 / distance^2, or the mean of all visible
/// pixels if none lies in any direction. Visible pixels are unchanged. Throws if an image has no
/// visible pixel or does not consist of whole patches.
[[nodiscard]] Tensor fill_holes(const Tensor& images, const Tensor& hidden,
                                std::int64_t patch_size);

}  // namespace fovea
