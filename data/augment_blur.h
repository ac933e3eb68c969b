// Pillow's Gaussian blur, bit for bit.
#pragma once

#include "data/image.h"

namespace fovea {

/// Approximates a Gaussian of deviation `radius` pixels by three box blurs each way; edges repeat.
/// Throws unless 0 <= radius <= 1000.
[[nodiscard]] Image gaussian_blur(const Image& image, double radius);

}  // namespace fovea
