// Reductions: sums, means, variances, maxima and norms. Sums run in a fixed order, in f32 for bf16.
#pragma once

#include <initializer_list>

#include "engine/tensor.h"

namespace fovea::ops {

using Axes = std::initializer_list<int>;

/// The sum or mean over the given axes, or over all axes if none are given. Without keepdim the
/// axes are dropped.
[[nodiscard]] Tensor sum(const Tensor& x, Axes axes = {}, bool keepdim = false);
[[nodiscard]] Tensor mean(const Tensor& x, Axes axes = {}, bool keepdim = false);
/// sum (x - mean)^2 / (n - correction).
[[nodiscard]] Tensor var(const Tensor& x, Axes axes = {}, double correction = 1,
                         bool keepdim = false);

/// The maximum over the given axes, or over all axes if none are given; NaN if present. Equal
/// maxima share the gradient evenly. (ops/order.h: max, along one axis, gives it to the first.)
[[nodiscard]] Tensor amax(const Tensor& x, Axes axes = {}, bool keepdim = false);

/// x / max(sum |x|, eps) along `axis`.
[[nodiscard]] Tensor l1_normalize(const Tensor& x, int axis, double eps = 1e-12);

}  // namespace fovea::ops
