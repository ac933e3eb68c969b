// One matrix product between tensors: what matmul, linear and convolution end in.
#pragma once

#include <string_view>

#include "engine/tensor.h"
#include "ops/product/call.h"

namespace fovea::ops::detail {

/// How a product ends; see GemmCall.
struct ProductEnd {
  Tensor into = {};    ///< add to this contiguous tensor and return it, or undefined
  Tensor addend = {};  ///< added: contiguous, as the result, or undefined
  Tensor bias = {};    ///< [N], f32 or f64, or undefined
  bool gelu = false;
  Tensor pre_activation = {};  ///< filled when defined: contiguous, as the result
};

/// a [..., M, K] times b [..., K, N] -> contiguous [..., M, N] of `dtype`; leading axes broadcast,
/// any strides are read in place. Shapes and devices must fit: callers have checked them.
[[nodiscard]] Tensor product(const Tensor& a, const Tensor& b, DType dtype,
                             const ProductEnd& end = {});

/// Column sums of a packed [R, C] in `dtype`, rows added in a fixed order.
[[nodiscard]] Tensor column_sums(const Tensor& x, DType dtype);

/// x off the tape with its last two axes exchanged.
[[nodiscard]] Tensor exchanged(const Tensor& x);

/// [..., C] off the tape as [R, C], R the product of the leading sizes; copies when strides forbid
/// sharing.
[[nodiscard]] Tensor as_matrix(const Tensor& x);

/// Contiguous x as another shape of as many elements, off the tape.
[[nodiscard]] Tensor with_shape(const Tensor& x, const Shape& shape);

}  // namespace fovea::ops::detail
