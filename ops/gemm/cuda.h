// Declarations of the CUDA GEMM kernels.
#pragma once

#include "ops/gemm/call.h"

namespace fovea::ops::cuda {

void gemm(const GemmCall& call);
void column_sums(const ColumnSumsCall& c);
void gelu_grad(const GeluGradCall& c);
void images_to_rows(const PatchesCall& c);
void rows_to_images(const PatchesCall& c);

/// The rest of a GEMM call when A B is packed in `sums`, up to the activation: C = alpha-scaled
/// sums (+ bias) (+ addend). `sums` null: all zero.
struct FinishCall {
  GemmCall gemm;
  const void* sums = nullptr;
  DType dtype = DType::f32;  ///< dtype of sums: f32, or f64 when C is f64
};
void finish(const FinishCall& call);

/// The activation of a GEMM call: packed C from `from`, its input, which may be C itself.
void activate(const GemmCall& call, const void* from);

}  // namespace fovea::ops::cuda
