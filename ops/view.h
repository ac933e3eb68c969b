// Moving elements without arithmetic. reshape, permute, transpose, slice, select, expand, squeeze
// and unsqueeze share the storage (reshape copies if it must); the others copy.
#pragma once

#include <initializer_list>
#include <span>
#include <vector>

#include "engine/tensor.h"

namespace fovea::ops {

/// One size may be -1 and is then inferred.
[[nodiscard]] Tensor reshape(const Tensor& x, const Shape& shape);
/// Axis i of the result is axis order[i] of x.
[[nodiscard]] Tensor permute(const Tensor& x, std::initializer_list<int> order);
[[nodiscard]] Tensor permute(const Tensor& x, std::span<const int> order);
[[nodiscard]] Tensor transpose(const Tensor& x, int a, int b);  ///< swaps two axes
/// Positions start, start + step, ... below stop; step >= 1.
struct Range {
  std::int64_t start = 0, stop = 0, step = 1;
};
/// The elements at a range of positions along `axis`. Negative positions count from the end, and
/// the range is clamped to the axis, as in Python.
[[nodiscard]] Tensor slice(const Tensor& x, int axis, Range range);
[[nodiscard]] Tensor slice(const Tensor& x, int axis, std::int64_t start, std::int64_t stop);
/// The element `index` along `axis`; the axis is dropped.
[[nodiscard]] Tensor select(const Tensor& x, int axis, std::int64_t index);
/// Repeats axes of size 1 and adds leading axes; -1 keeps a size.
[[nodiscard]] Tensor expand(const Tensor& x, const Shape& shape);
[[nodiscard]] Tensor squeeze(const Tensor& x, int axis);    ///< drops an axis of size 1
[[nodiscard]] Tensor unsqueeze(const Tensor& x, int axis);  ///< adds an axis of size 1

[[nodiscard]] Tensor cat(const std::vector<Tensor>& tensors, int axis);    ///< joins along an axis
[[nodiscard]] Tensor stack(const std::vector<Tensor>& tensors, int axis);  ///< joins along new axis
/// Views of consecutive parts; the sizes add up to that of the axis.
[[nodiscard]] std::vector<Tensor> split(const Tensor& x, std::span<const std::int64_t> sizes,
                                        int axis);
/// Constant padding: (before, after) per axis, from the LAST axis backwards, as in PyTorch.
/// Negative amounts crop.
[[nodiscard]] Tensor pad(const Tensor& x, std::span<const std::int64_t> amounts, double value = 0);
[[nodiscard]] Tensor roll(const Tensor& x, std::int64_t shift, int axis);  ///< shifts cyclically
[[nodiscard]] Tensor flip(const Tensor& x, int axis);                      ///< reverses an axis

}  // namespace fovea::ops
