// delta and dq on tensor cores: a block walks along the keys with its own queries.
#include "ops/attention/cuda.h"
#include "ops/attention/mma_grad.cuh"

namespace fovea::ops::cuda {

template <class M, int Width>
struct MmaDq {
  using T = typename M::T;
  static constexpr int kStrips = kStripsOf<T, Width>, kStreamed = kGradStreamed;
  using Warp = WarpRows<M, Width, kStrips>;
  using Own = typename Warp::Own;
  using Streamed = RowTile<T, kStreamed, Width>;
  using Bias = BiasTile<Warp::kOwn, kStreamed, /*OwnKeys=*/false>;
  using Scores = float[kStrips][kStreamed / 8][4];
  static constexpr std::size_t kBytes = (2 * Own::kElements + 4 * Streamed::kElements) * sizeof(T);
  /// Shared memory of a block.
  static std::size_t bytes(const AttentionCall& c) { return kBytes + Bias::bytes(c, 2); }

  __device__ static void run(const AttentionGradCall& g, float* deltas) {
    const AttentionCall& c = g.forward;
    const BlockOfHead at(c, c.queries, Warp::kOwn);
    const HeadRows<T> q(c.q, at.image, at.head, c.queries, c.width);
    const HeadRows<T> k(c.k, at.image, at.head, c.keys, c.width);
    const HeadRows<T> v(c.v, at.image, at.head, c.keys, c.value_width);
    const HeadRows<T> dy(g.dy, at.image, at.head, c.queries, c.value_width);
    const Warp warp(c.queries - at.first);
    const Own own{dynamic_shared<T>()}, own_dy{own.data + Own::kElements};
    const Streamed first_keys{own_dy.data + Own::kElements};
    const auto keys = [&](int buffer) {
      return Streamed{first_keys.data + buffer * Streamed::kElements};
    };
    const auto values = [&](int buffer) { return keys(buffer + 2); };
    const auto biases = [&](int buffer) { return Bias(c, keys(4).data, buffer); };
    const MmaTurn<M> rotation(c, at.image, at.head);

    const HeadRows<T> out(c.out, at.image, at.head, c.queries, c.value_width);
    own.fetch(out, at.first);
    own_dy.fetch(dy, at.first);
    write_delta(own, own_dy, warp, at, c, deltas);
    if (g.dq.data == nullptr) return;
    QueryStatistics statistics[kStrips][2];
    load_statistics(statistics, warp, HeadStatistics(c, deltas, at.pair), at.first);

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
      Scores scores, ds;
      warp.score(scores, own, keys(buffer), static_cast<float>(c.scale), biases(buffer), count);
      warp.multiply(ds, own_dy, values(buffer), count);
      differentiate<M>(scores, ds, count, [&](int s, int, int i) { return statistics[s][i / 2]; });
      warp.weigh(sums, ds, keys(buffer), count);
    };
    own.fetch(q, at.first);
    stream(static_cast<int>((c.keys + kStreamed - 1) / kStreamed), fetch, turn, use);
    float factor[kStrips][2];
    fill(factor, static_cast<float>(c.scale));
    warp.store(sums, factor, own);
    rotation.back(warp, own, at.first, c.queries);
    warp.write(own, HeadRows<T>(g.dq, at.image, at.head, c.queries, c.width), at.first);
    sum_columns(own, g.dq_sums, at, c.queries, c.width);
  }

 private:
  /// The diagonal of dy out^T, by the products that also make dp: with a single key, out equals v,
  /// and ds is zero.
  __device__ static void write_delta(const Own& out, const Own& dy, const Warp& warp,
                                     const BlockOfHead& at, const AttentionCall& c, float* deltas) {
    commit_copies();
    wait_copies<0>();
    __syncthreads();
    for (int s = 0; s < kStrips; ++s) {
      if (s >= warp.strips) continue;
      typename M::Accumulator sums[2];
      for (int column = 0; column < Width; column += M::kDepth) {
        typename M::Right right[2];
        Warp::load_rows(right, out, warp.first + s * kStrip, column);
        const typename M::Left left = warp.left(dy, s, column);
        M::multiply(sums[0], left, right[0]);
        M::multiply(sums[1], left, right[1]);
      }
      for (int half = 0; half < 2; ++half) {
        const std::int64_t query = at.first + warp.row(s, half);
        const bool has_diagonal = fragment_row() / 2 * 2 == fragment_column();
        const bool is_even = fragment_row() % 2 == 0;
        const float delta = is_even ? sums[half].at(2 * half) : sums[half].at(2 * half + 1);
        if (has_diagonal && query < c.queries) deltas[at.pair * c.queries + query] = delta;
      }
    }
    __syncthreads();  // all have read out, whose place q takes, and written deltas
  }
};

template <class M, int Width>
__launch_bounds__(kMmaThreads, kBlocksOf<typename M::T, Width>) __global__
    void mma_dq_kernel(AttentionGradCall g, float* deltas) {
  if constexpr (fovea::cuda::kHasTensorCores) MmaDq<M, Width>::run(g, deltas);
}

std::size_t mma_dq_bytes(const AttentionCall& c) {
  std::size_t bytes = 0;
  dispatch_mma(c, [&](auto product, auto columns) {
    bytes = MmaDq<decltype(product), decltype(columns)::value>::bytes(c);
  });
  return bytes;
}

void mma_attention_dq(const AttentionGradCall& g, float* deltas) {
  const AttentionCall& c = g.forward;
  dispatch_mma(c, [&](auto product, auto columns) {
    using M = decltype(product);
    constexpr int kWidth = decltype(columns)::value;
    using Dq = MmaDq<M, kWidth>;
    launch(current_stream(), mma_dq_kernel<M, kWidth>,
           blocks_of_heads(c, c.queries, Dq::Warp::kOwn), kMmaThreads, Dq::bytes(c), g, deltas);
  });
}

}  // namespace fovea::ops::cuda
