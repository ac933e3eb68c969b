// Matrix products. All of them end in one call of the GEMM of the tensor's device.
#pragma once

#include "engine/tensor.h"

namespace fovea::ops {

struct Transpose {
  bool a = false;
  bool b = false;
};

/// a [..., M, K] times b [..., K, N] -> [..., M, N]; the leading axes broadcast. `transpose` reads
/// the last two axes of an operand exchanged, without a copy.
[[nodiscard]] Tensor matmul(const Tensor& a, const Tensor& b, Transpose transpose = {});

/// x [..., in] -> x weight^T + bias + residual, [..., out]. weight [out, in]; bias [out] and
/// residual [..., out], or undefined: both are added inside the product. x may be bf16 while weight
/// and bias are f32 parameters, see compute_copy(), and the residual f32: the sum then keeps its
/// digits.
[[nodiscard]] Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
                            const Tensor& residual = {});
/// gelu(linear(x, weight, bias)) in the erf form, with bias and GELU inside the product.
[[nodiscard]] Tensor linear_gelu(const Tensor& x, const Tensor& weight, const Tensor& bias);

/// Whether products of f32 on CUDA may round their operands to TF32 (10 bits behind the point),
/// which tensor cores take. Off from the start; the CPU never does.
void allow_tf32(bool on);
[[nodiscard]] bool is_tf32_allowed();

/// `parameter` in `dtype`, cached until its version changes and not on the tape; itself when it
/// has that dtype. The bf16 weights-as-used of mixed precision (its masters stay f32).
[[nodiscard]] Tensor compute_copy(const Tensor& parameter, DType dtype);

}  // namespace fovea::ops
