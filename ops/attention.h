// Fused scaled dot-product attention, softmax(q k^T scale + bias) v. The N x M score matrix is
// never stored, forward or backward (Dao et al., FlashAttention; here on cache-sized tiles).
#pragma once

#include "engine/tensor.h"
#include "ops/rotary.h"

namespace fovea::ops {

struct AttentionOptions {
  double scale = 0;     ///< 0 means 1 / sqrt(D)
  Rotation rotation{};  ///< of queries and keys before their products
};

/// q [B, H, N, D], k [B, H, M, D], v [B, H, M, E] -> [B, H, N, E] for H heads, N queries and M
/// keys (M = N in self-attention). Any strides. bias broadcasts to [B, H, N, M], may be undefined,
/// and may be f32 with bf16 inputs; its gradient is f32 (f64 in f64), summed over the axes along
/// which the bias was repeated. -inf in the bias masks a pair; a fully masked row gives zeros and
/// no gradient. With a rotation, the queries are the first tokens of the sequence of the keys.
[[nodiscard]] Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v,
                               const Tensor& bias = {}, const AttentionOptions& options = {});

/// The same for the output of a qkv layer: qkv [B, N, 3, H, D] flattened to [B, N, 3 H D] ->
/// concatenated heads, [B, N, H D]. The kernel reads q, k and v in place by their strides, which
/// saves eight permutes.
[[nodiscard]] Tensor self_attention(const Tensor& qkv, std::int64_t heads, const Tensor& bias = {},
                                    const AttentionOptions& options = {});

}  // namespace fovea::ops
