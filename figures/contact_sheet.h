// Contact sheets: many small images in one picture.
#pragma once

#include "data/image.h"
#include "data/transforms.h"
#include "engine/tensor.h"

namespace fovea {

/// Normalised images, f32 [B, 3, H, W], in rows of `columns` with a gap of one pixel. Values
/// outside the 8-bit range (from random erasing) are clipped.
[[nodiscard]] Image contact_sheet(const Tensor& images, const Normalization& normalization,
                                  std::int64_t columns = 8);

}  // namespace fovea
