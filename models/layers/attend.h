// Softmax attention of all heads, with dropout of the attention weights.
#pragma once

#include "models/context.h"
#include "models/layers/dropout.h"
#include "ops/rotary.h"

namespace fovea {

/// softmax(q k^T / sqrt(D) + bias) v: q [B, H, N, D], k [B, H, M, D], v [B, H, M, E] -> [B, H, N,
/// E]. bias broadcasts to [B, H, N, M], or is undefined. The weights are stored only when some of
/// them are dropped.
[[nodiscard]] Tensor attend(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& bias,
                            const Dropout& drop, Context& ctx);

/// The queries or keys x [B, H, N, D] turned by their places, or as they are without a rotation.
[[nodiscard]] Tensor rotated(const Tensor& x, const ops::Rotation& rotation);
/// The same for qkv [B, N, 3 C] with its values as they are.
[[nodiscard]] Tensor rotated_qkv(const Tensor& qkv, std::int64_t heads,
                                 const ops::Rotation& rotation);

/// [B, N, C] -> [B, H, N, C / H].
[[nodiscard]] Tensor split_heads(const Tensor& x, std::int64_t heads);
/// Concatenates the heads: [B, H, N, E] -> [B, N, H E].
[[nodiscard]] Tensor join_heads(const Tensor& heads);

}  // namespace fovea
