// Softmax attention of all heads, with dropout of the attention weights.
#pragma once

#include "models/context.h"
#include "models/layers/dropout.h"

namespace fovea {

/// softmax(q k^T / sqrt(D) + bias) v: q [B, H, N, D], k [B, H, M, D], v [B, H, M, E] -> [B, H, N,
/// E]. bias broadcasts to [B, H, N, M], or is undefined. The weights are stored only when some of
/// them are dropped.
[[nodiscard]] Tensor attend(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& bias,
                            const Dropout& drop, Context& ctx);

/// [B, N, C] -> [B, H, N, C / H].
[[nodiscard]] Tensor split_heads(const Tensor& x, std::int64_t heads);
/// Concatenates the heads: [B, H, N, E] -> [B, N, H E].
[[nodiscard]] Tensor join_heads(const Tensor& heads);

}  // namespace fovea
