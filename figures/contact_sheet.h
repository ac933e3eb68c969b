// Many small images as one picture.
#pragma once

#include "data/image.h"
#include "data/transforms.h"
#include "engine/tensor.h"

namespace fovea {

/// Normalised images, f32 [B, 3, H, W], in rows of `columns` with a pixel between them. Values that
/// no 8-bit image has (erased parts) are cut off.
[[nodiscard]] Image contact_sheet(const Tensor& images, const Normalization& normalization,
                                  std::int64_t columns = 8);

}  // namespace fovea
