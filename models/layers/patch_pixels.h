// Images to vectors of pixels, one per patch, and back.
#pragma once

#include "models/layers/patch_embed.h"

namespace fovea {

/// Splits images into patches: [B, C, H, W] -> [B, N, p p C], values in the order (row, column,
/// channel).
[[nodiscard]] Tensor patch_pixels(const Tensor& images, std::int64_t patch_size);
/// Inverse of patch_pixels().
[[nodiscard]] Tensor images_of_patches(const Tensor& values, const PatchConfig& image);

}  // namespace fovea
