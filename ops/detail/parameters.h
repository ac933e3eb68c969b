// Weights and biases of products: which dtypes go together, and as what a bias is added.
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

/// The dtype in which products and sums of `dtype` are computed.
[[nodiscard]] inline DType sum_dtype(DType dtype) {
  return dtype == DType::f64 ? DType::f64 : DType::f32;
}

/// The bias as products add it: off the tape, packed, f64 or f32; undefined when absent.
[[nodiscard]] inline Tensor bias_as_used(const Tensor& bias) {
  return bias.defined() ? bias.detach().contiguous().to(sum_dtype(bias.dtype())) : bias;
}

}  // namespace fovea::ops::detail
