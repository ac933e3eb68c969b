// Resizing of images whose values are not bytes: u16 and f32. Private to data/.
#pragma once

#include "data/image.h"
#include "data/resize_passes.h"

namespace fovea {

/// The two passes of a separable resize in f64, horizontally first; u16 is rounded, half up, after
/// both. An axis without weights stays as it is.
[[nodiscard]] Image resize_values(const Image& image, const AxisWeights* rows,
                                  const AxisWeights* columns);

}  // namespace fovea
