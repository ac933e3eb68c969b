// Weights, biases and residuals of linear ops: valid combinations of shapes and dtypes, and the
// dtype in which they are added.
#pragma once

#include <string_view>

#include "engine/tensor.h"

namespace fovea::ops::detail {

/// Throws unless weight and bias have x's dtype, or x is bf16 and they are f32 parameters.
inline void require_parameters(std::string_view op, const Tensor& x, const Tensor& weight,
                               const Tensor& bias) {
  check(is_float(x.dtype()), op, ": got dtype ", to_string(x.dtype()),
        ", expected f64, f32 or bf16");
  const bool mixed = x.dtype() == DType::bf16 && weight.dtype() == DType::f32;
  check(weight.dtype() == x.dtype() || mixed, op, ": got x ", to_string(x.dtype()), " and weight ",
        to_string(weight.dtype()), ", expected the same dtype, or bf16 and an f32 parameter");
  if (!bias.defined()) return;
  check(bias.dtype() == weight.dtype() || (x.dtype() == DType::bf16 && bias.dtype() == DType::f32),
        op, ": got weight ", to_string(weight.dtype()), " and bias ", to_string(bias.dtype()),
        ", expected the same dtype");
}

/// The shape of x weight^T, [..., out] for x [..., in]. Throws unless weight [out, in] and an
/// optional bias [out] fit.
[[nodiscard]] inline Shape linear_shape(std::string_view op, const Shape& x, const Tensor& weight,
                                        const Tensor& bias) {
  check(x.rank() >= 1 && weight.rank() == 2 && x[-1] == weight.shape()[1], op, ": got x ", x,
        " and weight ", weight.shape(), ", expected x [..., in] and weight [out, in]");
  check(!bias.defined() || bias.shape() == Shape{weight.shape()[0]}, op, ": got bias ",
        bias.defined() ? bias.shape() : Shape{}, ", expected [", weight.shape()[0], "]");
  Shape shape = x;
  shape[-1] = weight.shape()[0];
  return shape;
}

/// Throws unless a defined residual can be added to a product of x: it must have the product's
/// shape and x's dtype, or f32 with bf16 x.
inline void require_residual(std::string_view op, const Tensor& residual, const Shape& product,
                             const Tensor& x) {
  if (!residual.defined()) return;
  const bool mixed = residual.dtype() == DType::f32 && x.dtype() == DType::bf16;
  check(residual.shape() == product && (residual.dtype() == x.dtype() || mixed), op,
        ": got residual ", residual.shape(), " of ", to_string(residual.dtype()), ", expected ",
        product, " of ", to_string(x.dtype()), ", or f32 with bf16");
}

/// The bias as GEMMs add it: off the tape, packed, f64 or f32; undefined when absent.
[[nodiscard]] inline Tensor bias_as_used(const Tensor& bias) {
  return bias.defined() ? bias.detach().contiguous().to(acc_dtype(bias.dtype())) : bias;
}

}  // namespace fovea::ops::detail
