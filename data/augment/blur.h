// Gaussian blurs: Pillow's, bit for bit, of policies, and torchvision's.
#pragma once

#include "data/image.h"

namespace fovea {

/// Approximates a Gaussian of deviation `radius` pixels by three box blurs each way; edges repeat.
/// Throws unless 0 <= radius <= 1000.
[[nodiscard]] Image gaussian_blur(const Image& image, double radius);

/// Convolves with `taps` values of a Gaussian each way; edges reflect, also beyond the image's size
/// where torchvision gives up. Throws unless taps is odd and 0 < deviation <= 1000.
[[nodiscard]] Image gaussian_filter(const Image& image, std::int64_t taps, double deviation);

}  // namespace fovea
