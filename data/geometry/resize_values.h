// Resizing of u16 and f32 images. Private to data/.
#pragma once

#include "data/geometry/resize_passes.h"
#include "data/image.h"

namespace fovea {

/// The two passes of a separable resize in f64; u16 is rounded, half up, after both.
[[nodiscard]] Image resize_values(const Image& image, const ResizePasses& passes);

}  // namespace fovea
