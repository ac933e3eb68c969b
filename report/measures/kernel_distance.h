// KID: the squared maximum mean discrepancy between two sets of feature vectors (Binkowski et al.
// 2018).
#pragma once

#include "engine/tensor.h"

namespace fovea {

/// The unbiased estimate with the kernel (x.y / d + 1)^3 over all vectors of a [N, d] and b [M, d]:
/// pairs of a vector with itself are excluded, so the result may be negative. Throws unless both
/// sets have at least two vectors.
[[nodiscard]] double kernel_distance(const Tensor& a, const Tensor& b);

}  // namespace fovea
