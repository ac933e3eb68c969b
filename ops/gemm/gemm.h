// One GEMM between tensors, used by matmul, linear and convolution.
#pragma once

#include <string_view>

#include "engine/tensor.h"
#include "ops/gemm/call.h"

namespace fovea::ops::detail {

/// The epilogue of a GEMM; see GemmCall.
struct GemmEpilogue {
  Tensor into = {};    ///< a contiguous tensor to add to and return, or undefined
  Tensor addend = {};  ///< added to the result: contiguous, of its shape, or undefined
  Tensor bias = {};    ///< [N], a parameter as the op got it, or undefined
  GemmActivation activation = GemmActivation::none;
  Tensor pre_activation = {};  ///< written when defined: contiguous, of the result's shape
};

/// A bias as the kernels of its device add it to a result.
class BiasAsUsed {
 public:
  /// `bias` may be undefined.
  BiasAsUsed(const Tensor& bias, DType result);
  /// Adds it to the call, whose kernel must run while this lives.
  void give(GemmCall& call) const;

 private:
  Tensor bias_;
};

/// a [..., M, K] times b [..., K, N] -> contiguous [..., M, N] of `dtype`; leading axes broadcast,
/// any strides are read in place. Callers must have checked shapes and devices.
[[nodiscard]] Tensor gemm(const Tensor& a, const Tensor& b, DType dtype,
                          const GemmEpilogue& end = {});

/// Column sums of a packed [R, C] in `dtype`; rows are added in a fixed order.
[[nodiscard]] Tensor column_sums(const Tensor& x, DType dtype);

/// x off the tape with its last two axes swapped.
[[nodiscard]] Tensor transposed(const Tensor& x);

/// [..., C] off the tape as [R, C], where R is the product of the leading sizes; copies unless the
/// rows are evenly spaced.
[[nodiscard]] Tensor as_matrix(const Tensor& x);

/// Contiguous x with another shape of equal size, off the tape.
[[nodiscard]] Tensor with_shape(const Tensor& x, const Shape& shape);

}  // namespace fovea::ops::detail
