// Attention's reading and summing by relative position: pairs of tokens share a bucket, and what
// one op reads per bucket the other one sums. Each is the other's derivative.
#pragma once

#include "engine/tensor.h"

namespace fovea::ops {

/// buckets [K, N, M], i64: a pair (i, j) of tokens has K of them, and a negative one stands for
/// none. Each op reads all K.
///
/// y[b, h, i, j] = sum over k of x[b, h, i, buckets[k, i, j]]: x [B, H, N, R] -> [B, H, N, M].
[[nodiscard]] Tensor relative_gather(const Tensor& x, const Tensor& buckets);
/// y[b, h, i, r] = sum over k and j with buckets[k, i, j] = r of x[b, h, i, j]:
/// x [B, H, N, M] -> [B, H, N, R], R = `count`.
[[nodiscard]] Tensor relative_sum(const Tensor& x, const Tensor& buckets, std::int64_t count);

}  // namespace fovea::ops
