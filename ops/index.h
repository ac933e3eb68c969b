// Reading by integer index. Indices are i64; out-of-range ones throw. Gradients of repeated indices
// add up in a fixed order.
#pragma once

#include "engine/tensor.h"

namespace fovea::ops {

/// y[i][j] = x[index[i][j]][j] for axis 0, and so on; index has x's rank, and at most x's sizes off
/// `axis`.
[[nodiscard]] Tensor gather(const Tensor& x, int axis, const Tensor& index);
/// Whole slices along `axis`; index [n].
[[nodiscard]] Tensor index_select(const Tensor& x, int axis, const Tensor& index);
/// Rows of weight [V, D] -> [..., D] for ids [...].
[[nodiscard]] Tensor embedding(const Tensor& weight, const Tensor& ids);
/// ids [...] -> [..., classes] with ones at the ids. No derivative.
[[nodiscard]] Tensor one_hot(const Tensor& ids, std::int64_t classes, DType dtype = DType::f32);

}  // namespace fovea::ops
