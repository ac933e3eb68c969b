// Declarations of the CUDA attention kernels.
#pragma once

#include <cstddef>

#include "ops/attention/call.h"

namespace fovea::ops::cuda {

void attention_forward(const AttentionCall& c);
void attention_backward(const AttentionGradCall& c);
void rotate(const RotateCall& c);
void rotation_grad(const RotationGradCall& c);
void rotary_table(const RotaryTableCall& c);
void rotary_table_grad(const RotaryTableGradCall& c);

/// Whether the kernels on tensor cores (mma_*.cu) run the call: not in f64, on a GPU older than
/// compute capability 8.0, or with more columns than their tiles or its shared memory hold; nor
/// with halves of an odd number of columns to turn.
[[nodiscard]] bool uses_tensor_cores(const AttentionCall& c);
/// Shared memory of the two kernels that need the most.
[[nodiscard]] std::size_t mma_dq_bytes(const AttentionCall& c);
[[nodiscard]] std::size_t mma_dkv_bytes(const AttentionCall& c);
void mma_attention_forward(const AttentionCall& c);
/// Writes deltas [B, H, N], the sum(dy out) of each query, which the following read; and dq, if
/// wanted.
void mma_attention_dq(const AttentionGradCall& g, float* deltas);
void mma_attention_dkv(const AttentionGradCall& g, const float* deltas);
/// For a bias that is not repeated along queries or keys.
void mma_attention_dbias(const AttentionGradCall& g, const float* deltas);

}  // namespace fovea::ops::cuda
