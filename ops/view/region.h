// Parts of tensors that views read, and their gradients.
#pragma once

#include "engine/autograd.h"

namespace fovea::ops::detail {

/// A part of a tensor: the same axes with other sizes and steps.
struct ViewedPart {
  Shape shape;
  Strides strides;
  std::int64_t offset = 0;
};

[[nodiscard]] inline Tensor alias(const Tensor& x, const ViewedPart& r) {
  return x.alias(r.shape, r.strides, r.offset);
}

/// The elements start, start + step, ... (`count` of them) along `axis`.
[[nodiscard]] inline ViewedPart region_along(const Tensor& x, int axis, std::int64_t start,
                                             std::int64_t count, std::int64_t step = 1) {
  ViewedPart r{x.shape(), x.strides(), count > 0 ? start * x.strides()[axis] : 0};
  r.shape[axis] = count;
  r.strides[axis] *= step;
  return r;
}

/// What a view read of x along an axis.
struct AlongAxis {
  int axis = 0;
  std::int64_t start = 0, step = 1;
};

/// The gradient of x of this shape from that of what a view read of it: zeros elsewhere. Undefined
/// if it was added to the sum so far.
[[nodiscard]] Tensor scatter_along(const GradArgs& g, const Shape& shape, const AlongAxis& read,
                                   const Tensor& part);

}  // namespace fovea::ops::detail
