// Indexing by integers. Indices are i64; out-of-range indices throw. Gradients of repeated indices
// are added in a fixed order.
#pragma once

#include "engine/tensor.h"

namespace fovea::ops {

/// y[i][j] = x[index[i][j]][j] for axis 0, and so on. index has x's rank and, on axes other than
/// `axis`, at most x's sizes.
[[nodiscard]] Tensor gather(const Tensor& x, int axis, const Tensor& index);
/// Selects whole slices along `axis`; index [n].
[[nodiscard]] Tensor index_select(const Tensor& x, int axis, const Tensor& index);
/// Looks up rows of weight [V, D] for ids [...] -> [..., D].
[[nodiscard]] Tensor embedding(const Tensor& weight, const Tensor& ids);
/// ids [...] -> [..., classes] with ones at the ids. No derivative.
[[nodiscard]] Tensor one_hot(const Tensor& ids, std::int64_t classes, DType dtype = DType::f32);

}  // namespace fovea::ops
