// Contact sheets: many small images in one picture.
#pragma once

#include "data/geometry/transforms.h"
#include "data/image.h"
#include "engine/tensor.h"

namespace fovea {

/// Normalised images, f32 [B, 3, H, W], in rows of `columns` with a gap of one pixel. Values
/// outside the 8-bit range (from random erasing) are clipped.
[[nodiscard]] Image contact_sheet(const Tensor& images, const Normalization& normalization,
                                  std::int64_t columns = 8);
/// The same for latents, f32 [B, C, H, W] of deviation about 1: their first three channels as
/// colours (the last one again if there are fewer), -2 to 2 from dark to bright.
[[nodiscard]] Image latent_sheet(const Tensor& latents, std::int64_t columns = 8);

}  // namespace fovea
