// Attention on CUDA: a block walks along the keys with 32 queries and rescales its sums when the
// maximum rises (online softmax; Dao et al. 2022, FlashAttention).
#include "ops/attention/cuda.h"
#include "ops/attention/tile.cuh"

namespace fovea::ops::cuda {

namespace math = fovea::ops::detail::math;

template <class T>
__global__ void attention_kernel(AttentionCall c) {
  using A = acc_t<T>;
  constexpr A kNothing = -static_cast<A>(INFINITY);
  const BlockOfTile at(c, c.queries);
  const TurnedRows<T> q(c.rotation, c.q, at.image, at.head, c.queries, c.width);
  const TurnedRows<T> k(c.rotation, c.k, at.image, at.head, c.keys, c.width);
  const HeadRows<T> v(c.v, at.image, at.head, c.keys, c.value_width);
  const Tiles<A> tiles;
  A maximum[kOwn], total[kOwn], sums[kOwn][2] = {};
  for (int r = 0; r < kOwn; ++r) {
    maximum[r] = kNothing;
    total[r] = 0;
  }
  for (std::int64_t first = 0; first < c.keys; first += kTile) {
    A scores[kOwn] = {};
    tiles.multiply(scores, q, at.first, k, first);
    const std::int64_t key = first + tiles.lane;
    for (int r = 0; r < kOwn; ++r) {
      const std::int64_t query = at.first + tiles.warp * kOwn + r;
      const bool exists = query < c.queries && key < c.keys;
      A score = kNothing;
      if (exists) {
        score = scores[r] * static_cast<A>(c.scale) + bias_at<A>(c, at.image, at.head, query, key);
      }
      const A larger = MaxOf{}(maximum[r], warp_reduce(score, MaxOf{}));
      const A base = larger == kNothing ? A(0) : larger;  // all masked so far
      const A correction = math::exp(maximum[r] - base);
      scores[r] = math::exp(score - base);
      total[r] = total[r] * correction + warp_reduce(scores[r], SumOf{});
      maximum[r] = larger;
      sums[r][0] *= correction;
      sums[r][1] *= correction;
    }
    tiles.weigh(sums, scores, v, first, at.column);
  }
  A scale[kOwn];
  for (int r = 0; r < kOwn; ++r) {
    const bool masked = total[r] == A(0);  // fully masked, or there are no keys
    scale[r] = masked ? A(0) : A(1) / total[r];
    if (masked) maximum[r] = 0;
    const std::int64_t query = at.first + tiles.warp * kOwn + r;
    if (c.statistics == nullptr || blockIdx.y > 0 || tiles.lane > 0 || query >= c.queries) continue;
    A* const statistics = static_cast<A*>(c.statistics) + at.pair * c.queries + query;
    statistics[0] = maximum[r];
    statistics[c.batch * c.heads * c.queries] = scale[r];
  }
  const HeadRows<T> out(c.out, at.image, at.head, c.queries, c.value_width);
  tiles.write(sums, scale, out, at.first, at.column);
}

void attention_forward(const AttentionCall& c) {
  const dim3 grid = grid_of_tiles(c, c.queries, c.value_width);
  if (grid.x == 0) return;
  if (uses_tensor_cores(c)) return mma_attention_forward(c);
  dispatch_float(c.dtype, [&](auto tag) {
    using T = decltype(tag);
    launch(current_stream(), attention_kernel<T>, grid, kRowBlock, Tiles<acc_t<T>>::kBytes, c);
  });
}

extern const AttentionKernels attention_kernels{
    attention_forward, attention_backward, rotate,           rotation_grad,
    rotary_table,      rotary_table_grad,  uses_tensor_cores};

}  // namespace fovea::ops::cuda
