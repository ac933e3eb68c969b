// Gather and sum by relative position for attention: pairs of tokens share a bucket; one op reads
// values by bucket, the other sums them. Each is the other's derivative.
#pragma once

#include "engine/tensor.h"

namespace fovea::ops {

/// buckets [K, N, M], i64: each pair (i, j) of tokens has K buckets; a negative one means none.
/// Both ops use all K.
///
/// y[b, h, i, j] = sum over k of x[b, h, i, buckets[k, i, j]]: x [B, H, N, R] -> [B, H, N, M].
[[nodiscard]] Tensor relative_gather(const Tensor& x, const Tensor& buckets);
/// y[b, h, i, r] = sum over k and j with buckets[k, i, j] = r of x[b, h, i, j]:
/// x [B, H, N, M] -> [B, H, N, R], R = `count`.
[[nodiscard]] Tensor relative_sum(const Tensor& x, const Tensor& buckets, std::int64_t count);

}  // namespace fovea::ops
