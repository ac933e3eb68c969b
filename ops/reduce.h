// Reductions and order statistics. Sums run in a fixed order, in f32 for bf16.
#pragma once

#include <initializer_list>
#include <span>
#include <utility>

#include "engine/tensor.h"

namespace fovea::ops {

using Axes = std::initializer_list<int>;

/// Over the given axes, or all when there are none. Without keepdim the axes disappear.
[[nodiscard]] Tensor sum(const Tensor& x, Axes axes = {}, bool keepdim = false);
[[nodiscard]] Tensor mean(const Tensor& x, Axes axes = {}, bool keepdim = false);
/// sum (x - mean)^2 / (n - correction).
[[nodiscard]] Tensor var(const Tensor& x, Axes axes = {}, double correction = 1,
                         bool keepdim = false);
/// The gradient goes to the first extreme element. NaN wins.
[[nodiscard]] Tensor max(const Tensor& x, int axis, bool keepdim = false);
[[nodiscard]] Tensor min(const Tensor& x, int axis, bool keepdim = false);

/// i64 positions of the first maximum.
[[nodiscard]] Tensor argmax(const Tensor& x, int axis, bool keepdim = false);
/// The k largest along `axis`, in falling order, and their i64 positions; ties by lower position.
[[nodiscard]] std::pair<Tensor, Tensor> topk(const Tensor& x, std::int64_t k, int axis = -1);
/// Stable. Values and i64 positions.
[[nodiscard]] std::pair<Tensor, Tensor> sort(const Tensor& x, int axis = -1,
                                             bool descending = false);
[[nodiscard]] Tensor argsort(const Tensor& x, int axis = -1, bool descending = false);

/// x / max(sum |x|, eps) along `axis`.
[[nodiscard]] Tensor l1_normalize(const Tensor& x, int axis, double eps = 1e-12);

}  // namespace fovea::ops
