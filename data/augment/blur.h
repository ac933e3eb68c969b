// Gaussian blurs: Pillow's, bit for bit, for the policies, and torchvision's.
#pragma once

#include "data/image.h"

namespace fovea {

/// Approximates a Gaussian with standard deviation `radius` pixels by three box blurs per
/// direction; edges repeat. Throws unless 0 <= radius <= 1000.
[[nodiscard]] Image gaussian_blur(const Image& image, double radius);

/// Convolves with `taps` values of a Gaussian per direction; edges reflect, even for images too
/// small for torchvision. Throws unless taps is odd and 0 < deviation <= 1000.
[[nodiscard]] Image gaussian_filter(const Image& image, std::int64_t taps, double deviation);

}  // namespace fovea
