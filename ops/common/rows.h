// Tensors as packed rows: the input form of ops along one or several axes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "engine/tensor.h"
#include "ops/common/checks.h"

namespace fovea::ops::detail {

/// x off the tape and contiguous: the form that kernels read and derivatives save.
[[nodiscard]] inline Tensor detached_contiguous(const Tensor& x) { return x.detach().contiguous(); }

/// The same axes in another order, off the tape: axis i of the result is axis order[i] of x.
[[nodiscard]] inline Tensor permuted(const Tensor& x, std::span<const int> order) {
  Shape shape;
  Strides strides;
  for (const int axis : order) {
    shape.push_back(x.shape()[axis]);
    strides.push_back(x.strides()[axis]);
  }
  return x.alias(shape, strides);
}

/// x off the tape, without `axis`, whose size is 1.
[[nodiscard]] inline Tensor without_axis(const Tensor& x, int axis) {
  Shape shape = x.shape();
  Strides strides = x.strides();
  shape.erase(axis);
  strides.erase(axis);
  return x.alias(shape, strides);
}

/// x off the tape, with an axis of size 1 before `axis`.
[[nodiscard]] inline Tensor with_axis(const Tensor& x, int axis) {
  Shape shape = x.shape();
  Strides strides = x.strides();
  shape.insert(axis, 1);
  strides.insert(axis, 1);
  return x.alias(shape, strides);
}

/// x off the tape and packed, with `axis` (in [0, rank)) moved to the end.
[[nodiscard]] inline Tensor axis_to_end(const Tensor& x, int axis) {
  int order[Shape::kMaxRank] = {0, 1, 2, 3, 4, 5};
  std::rotate(order + axis, order + axis + 1, order + x.rank());
  return permuted(x, {order, static_cast<std::size_t>(x.rank())}).contiguous();
}

/// Undoes axis_to_end().
[[nodiscard]] inline Tensor axis_from_end(const Tensor& x, int axis) {
  int order[Shape::kMaxRank] = {0, 1, 2, 3, 4, 5};
  std::rotate(order + axis, order + x.rank() - 1, order + x.rank());
  return permuted(x, {order, static_cast<std::size_t>(x.rank())}).contiguous();
}

/// The size of the last axis, and the number of rows along it.
struct RowSize {
  std::int64_t rows = 0, width = 0;

  explicit RowSize(const Tensor& x) : rows(1), width(x.rank() == 0 ? 1 : x.shape()[-1]) {
    for (int axis = 0; axis + 1 < x.rank(); ++axis) rows *= x.shape()[axis];
  }
};

}  // namespace fovea::ops::detail
