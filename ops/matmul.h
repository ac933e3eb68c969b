// Matrix products. Each ends in one GEMM call on the tensor's device.
#pragma once

#include "engine/tensor.h"
#include "ops/activation.h"

namespace fovea::ops {

struct Transpose {
  bool a = false;
  bool b = false;
};

/// a [..., M, K] times b [..., K, N] -> [..., M, N]; leading axes broadcast. `transpose` swaps the
/// last two axes of an operand without a copy.
[[nodiscard]] Tensor matmul(const Tensor& a, const Tensor& b, Transpose transpose = {});

/// x [..., in] -> x weight^T + bias + residual, [..., out]. weight [out, in]; bias [out] and
/// residual [..., out], or undefined: both are added in the GEMM epilogue. x may be bf16 with f32
/// parameters, see compute_copy(), and an f32 residual; the sum then stays f32.
[[nodiscard]] Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
                            const Tensor& residual = {});
/// gelu(linear(x, weight, bias), form); bias and GELU are part of the GEMM epilogue.
[[nodiscard]] Tensor linear_gelu(const Tensor& x, const Tensor& weight, const Tensor& bias,
                                 GeluForm form = GeluForm::erf);

/// Whether f32 GEMMs on CUDA may round their operands to TF32 (10 mantissa bits) for tensor cores.
/// Off by default; the CPU never uses it.
void allow_tf32(bool on);
[[nodiscard]] bool is_tf32_allowed();  ///< as set by allow_tf32()

/// `parameter` converted to `dtype`, off the tape, cached until its version changes; itself when
/// already of that dtype. These are the bf16 weights of mixed precision, whose master weights stay
/// f32.
[[nodiscard]] Tensor compute_copy(const Tensor& parameter, DType dtype);

}  // namespace fovea::ops
