// Attention on tensor cores: a block walks along the keys with its own queries and rescales its
// sums when the maximum rises.
#include "engine/cuda/limits.h"
#include "engine/cuda/runtime.h"
#include "ops/attention/cuda.h"
#include "ops/attention/mma_turn.cuh"

namespace fovea::ops::cuda {

/// A running softmax of a warp's own rows.
template <class M, int Strips>
struct OnlineSoftmax {
  static constexpr float kNothing = -INFINITY;
  float maximum[Strips][2], total[Strips][2];

  __device__ OnlineSoftmax() {
    for (int i = 0; i < 2 * Strips; ++i) {
      maximum[i / 2][i % 2] = kNothing;
      total[i / 2][i % 2] = 0;
    }
  }

  /// Turns scores into weights. Earlier weights are to be multiplied by `correction`.
  template <int Tiles>
  __device__ void update(float (&scores)[Strips][Tiles][4], float (&correction)[Strips][2]) {
    for (int s = 0; s < Strips; ++s) {
      for (int half = 0; half < 2; ++half) {
        float larger = maximum[s][half];
        for (int i = 0; i < 2 * Tiles; ++i) {
          larger = fmaxf(larger, scores[s][i / 2][2 * half + i % 2]);
        }
        larger = row_reduce(larger, [](float a, float b) { return fmaxf(a, b); });
        const float base = larger == kNothing ? 0 : larger;  // all masked so far
        correction[s][half] = M::exp(maximum[s][half], base);
        float sum = total[s][half] * correction[s][half];
        for (int i = 0; i < 2 * Tiles; ++i) {
          float& score = scores[s][i / 2][2 * half + i % 2];
          score = M::exp(score, base);
          sum += score;
        }
        total[s][half] = sum;
        maximum[s][half] = larger;
      }
    }
  }

  /// Turns the totals into 1 / sum over all columns; a row that is masked whole gets zeros.
  __device__ void finish() {
    for (int i = 0; i < 2 * Strips; ++i) {
      float& sum = total[i / 2][i % 2];
      sum = row_reduce(sum, SumOf{});
      if (sum == 0) maximum[i / 2][i % 2] = 0;
      sum = sum == 0 ? 0 : 1 / sum;
    }
  }
};

template <class M, int Width>
struct MmaForward {
  using T = typename M::T;
  static constexpr int kStrips = kStripsOf<T, Width>;
  static constexpr int kStreamed = sizeof(T) == 2 && Width <= 32 ? 64 : 32;
  using Warp = WarpRows<M, Width, kStrips>;
  using Own = typename Warp::Own;
  using Streamed = RowTile<T, kStreamed, Width>;
  using Bias = BiasTile<Warp::kOwn, kStreamed, /*OwnKeys=*/false>;
  using Scores = float[kStrips][kStreamed / 8][4];
  static constexpr std::size_t kBytes = (Own::kElements + 4 * Streamed::kElements) * sizeof(T);

  __device__ static void run(const AttentionCall& c) {
    const BlockOfHead at(c, c.queries, Warp::kOwn);
    const HeadRows<T> q(c.q, at.image, at.head, c.queries, c.width);
    const HeadRows<T> k(c.k, at.image, at.head, c.keys, c.width);
    const HeadRows<T> v(c.v, at.image, at.head, c.keys, c.value_width);
    const Own own{dynamic_shared<T>()};
    const auto keys = [&](int buffer) {
      return Streamed{own.data + Own::kElements + buffer * Streamed::kElements};
    };
    const auto values = [&](int buffer) { return keys(buffer + 2); };
    const auto biases = [&](int buffer) { return Bias(c, keys(4).data, buffer); };
    const Warp warp(c.queries - at.first);
    const MmaTurn<M> rotation(c, at.image, at.head);
    OnlineSoftmax<M, kStrips> softmax;
    float sums[kStrips][Width / 8][4] = {};
    const auto fetch = [&](int tile, int buffer) {
      const std::int64_t first = std::int64_t{kStreamed} * tile;
      keys(buffer).fetch(k, first);
      values(buffer).fetch(v, first);
      biases(buffer).fetch(c, at.image, at.head, at.first, first);
    };
    const auto turn = [&](int tile, int buffer) {
      return rotation.tile(tile, own, at.first, c.queries, keys(buffer), c.keys);
    };
    const auto use = [&](int tile, int buffer) {
      if (warp.strips == 0) return;
      const int count = rows_of_tile<kStreamed>(c.keys, tile);
      Scores scores;
      float correction[kStrips][2];
      warp.score(scores, own, keys(buffer), static_cast<float>(c.scale), biases(buffer), count);
      if (count < kStreamed) mask(scores, count);
      softmax.update(scores, correction);
      rescale(sums, correction);
      warp.weigh(sums, scores, values(buffer), count);
    };
    own.fetch(q, at.first);
    stream(static_cast<int>((c.keys + kStreamed - 1) / kStreamed), fetch, turn, use);
    softmax.finish();
    const HeadRows<T> out(c.out, at.image, at.head, c.queries, c.value_width);
    warp.store(sums, softmax.total, own);
    warp.write(own, out, at.first);
    write_statistics(c, at, warp, softmax);
  }

 private:
  /// Keys behind the last one.
  __device__ static void mask(Scores& scores, int count) {
    for (int i = 0; i < kStrips * kStreamed / 2; ++i) {
      const int n = i / 4 % (kStreamed / 8);
      const bool exists = n * 8 + fragment_column() + i % 2 < count;
      if (!exists) scores[i / 4 / (kStreamed / 8)][n][i % 4] = -INFINITY;
    }
  }

  __device__ static void rescale(float (&sums)[kStrips][Width / 8][4],
                                 const float (&factor)[kStrips][2]) {
    for (int s = 0; s < kStrips; ++s) {
      for (int i = 0; i < Width / 2; ++i) sums[s][i / 4][i % 4] *= factor[s][i % 4 / 2];
    }
  }

  __device__ static void write_statistics(const AttentionCall& c, const BlockOfHead& at,
                                          const Warp& warp,
                                          const OnlineSoftmax<M, kStrips>& softmax) {
    if (c.statistics == nullptr || fragment_column() > 0) return;
    for (int i = 0; i < 2 * kStrips; ++i) {
      const std::int64_t query = at.first + warp.row(i / 2, i % 2);
      if (query >= c.queries) continue;
      float* const to = static_cast<float*>(c.statistics) + at.pair * c.queries + query;
      to[0] = softmax.maximum[i / 2][i % 2];
      to[c.batch * c.heads * c.queries] = softmax.total[i / 2][i % 2];
    }
  }
};

template <class M, int Width>
__launch_bounds__(kMmaThreads, kBlocksOf<typename M::T, Width>) __global__
    void mma_attention_kernel(AttentionCall c) {
  if constexpr (fovea::cuda::kHasTensorCores) MmaForward<M, Width>::run(c);
}

bool uses_tensor_cores(const AttentionCall& c) {
  const bool has_kernels =
      c.dtype != DType::f64 && c.width <= kMmaColumns && c.value_width <= kMmaColumns;
  const bool turns_apart = c.rotation.halves && c.rotation.pairs % 2 != 0;
  if (!has_kernels || turns_apart || c.keys == 0) return false;
  if (fovea::cuda::compute_capability(fovea::cuda::current_device()) < 80) return false;
  const std::size_t limit = fovea::cuda::shared_memory_limit();
  return mma_dq_bytes(c) <= limit && mma_dkv_bytes(c) <= limit;
}

void mma_attention_forward(const AttentionCall& c) {
  dispatch_mma(c, [&](auto product, auto columns) {
    using M = decltype(product);
    constexpr int kWidth = decltype(columns)::value;
    using Forward = MmaForward<M, kWidth>;
    launch(current_stream(), mma_attention_kernel<M, kWidth>,
           blocks_of_heads(c, c.queries, Forward::Warp::kOwn), kMmaThreads,
           Forward::kBytes + Forward::Bias::bytes(c, 2), c);
  });
}

}  // namespace fovea::ops::cuda
