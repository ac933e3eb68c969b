// Order statistics along an axis, for any dtype. NaN counts as the largest value.
#pragma once

#include <utility>

#include "engine/tensor.h"

namespace fovea::ops {

/// The gradient goes to the first extreme element. NaN is returned if present.
[[nodiscard]] Tensor max(const Tensor& x, int axis, bool keepdim = false);
[[nodiscard]] Tensor min(const Tensor& x, int axis, bool keepdim = false);

/// i64 position of the first maximum.
[[nodiscard]] Tensor argmax(const Tensor& x, int axis, bool keepdim = false);
/// The k largest elements along `axis`, in descending order, and their i64 positions; ties by
/// lower position.
[[nodiscard]] std::pair<Tensor, Tensor> topk(const Tensor& x, std::int64_t k, int axis = -1);
/// A stable sort: values and i64 positions; argsort: the positions.
[[nodiscard]] std::pair<Tensor, Tensor> sort(const Tensor& x, int axis = -1,
                                             bool descending = false);
[[nodiscard]] Tensor argsort(const Tensor& x, int axis = -1, bool descending = false);

}  // namespace fovea::ops
