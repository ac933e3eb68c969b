// dk and dv on tensor cores: a block walks along the queries with its own keys. Scores are
// transposed, so that p^T and ds^T are factors of dv and dk as they lie in registers.
#include "ops/attention/cuda.h"
#include "ops/attention/mma_grad.cuh"

namespace fovea::ops::cuda {

template <class M, int Width>
struct MmaDkv {
  using T = typename M::T;
  /// Fewer where the sums leave few registers.
  static constexpr int kStreamed = sizeof(T) == 4 && Width > 96 ? 16 : kGradStreamed;
  using Warp = WarpRows<M, Width, 1>;
  using Own = typename Warp::Own;
  using Streamed = RowTile<T, kStreamed, Width>;
  using Bias = BiasTile<kStreamed, Warp::kOwn, /*OwnKeys=*/true>;
  using Scores = float[1][kStreamed / 8][4];
  using Sums = float[1][Width / 8][4];
  static constexpr std::size_t kTileBytes =
      (2 * Own::kElements + 4 * Streamed::kElements) * sizeof(T);
  static constexpr int kBlocks = Width > (sizeof(T) == 2 ? 64 : 32) ? 2 : 3;  ///< as kBlocksOf
  static constexpr int kStatistics = 3 * kStreamed;  ///< maxima, scales and deltas of a tile
  static constexpr std::size_t kBytes = kTileBytes + 2 * kStatistics * sizeof(float);
  /// Shared memory of a block.
  static std::size_t bytes(const AttentionCall& c) { return kBytes + Bias::bytes(c, 2); }

  __device__ static void run(const AttentionGradCall& g, const float* deltas) {
    const AttentionCall& c = g.forward;
    const BlockOfHead at(c, c.keys, Warp::kOwn);
    const HeadRows<T> q(c.q, at.image, at.head, c.queries, c.width);
    const HeadRows<T> k(c.k, at.image, at.head, c.keys, c.width);
    const HeadRows<T> v(c.v, at.image, at.head, c.keys, c.value_width);
    const HeadRows<T> dy(g.dy, at.image, at.head, c.queries, c.value_width);
    const HeadStatistics statistics(c, deltas, at.pair);
    const Warp warp(c.keys - at.first);
    const Own own_k{dynamic_shared<T>()}, own_v{own_k.data + Own::kElements};
    const Streamed first_queries{own_v.data + Own::kElements};
    const auto queries = [&](int buffer) {
      return Streamed{first_queries.data + buffer * Streamed::kElements};
    };
    const auto dys = [&](int buffer) { return queries(buffer + 2); };
    float* const first_statistics = reinterpret_cast<float*>(queries(4).data);
    const auto biases = [&](int buffer) {
      return Bias(c, first_statistics + 2 * kStatistics, buffer);
    };
    const MmaTurn<M> rotation(c, at.image, at.head);

    Sums dk = {}, dv = {};
    const auto fetch = [&](int tile, int buffer) {
      const std::int64_t first = std::int64_t{kStreamed} * tile;
      queries(buffer).fetch(q, first);
      dys(buffer).fetch(dy, first);
      biases(buffer).fetch(c, at.image, at.head, first, at.first);
      fetch_statistics(first_statistics + buffer * kStatistics, statistics, first);
    };
    const auto turn = [&](int tile, int buffer) {
      return rotation.tile(tile, own_k, at.first, c.keys, queries(buffer), c.queries);
    };
    const auto use = [&](int tile, int buffer) {
      if (warp.strips == 0) return;
      const int count = rows_of_tile<kStreamed>(c.queries, tile);
      Scores p, ds;
      warp.score(p, own_k, queries(buffer), static_cast<float>(c.scale), biases(buffer), count);
      warp.multiply(ds, own_v, dys(buffer), count);
      const float* const of_tile = first_statistics + buffer * kStatistics + fragment_column();
      differentiate<M>(p, ds, count, [&](int, int n, int i) {
        const float* const of_query = of_tile + 8 * n + i % 2;
        return QueryStatistics{of_query[0], of_query[kStreamed], of_query[2 * kStreamed]};
      });
      warp.weigh(dv, p, dys(buffer), count);
      warp.weigh(dk, ds, queries(buffer), count);
    };
    own_k.fetch(k, at.first);
    own_v.fetch(v, at.first);
    stream(static_cast<int>((c.queries + kStreamed - 1) / kStreamed), fetch, turn, use);
    const auto write = [&](const Sums& sums, double scale, const Own& tile, const AttentionView& to,
                           std::int64_t columns, bool turned) {
      if (to.data == nullptr) return;
      float factor[1][2];
      fill(factor, static_cast<float>(scale));
      warp.store(sums, factor, tile);
      if (turned) rotation.back(warp, tile, at.first, c.keys);
      warp.write(tile, HeadRows<T>(to, at.image, at.head, c.keys, columns), at.first);
    };
    write(dk, c.scale, own_k, g.dk, c.width, true);
    write(dv, 1, own_v, g.dv, c.value_width, false);
    sum_columns(own_k, g.dk_sums, at, c.keys, c.width);
    sum_columns(own_v, g.dv_sums, at, c.keys, c.value_width);
  }

 private:
  /// Queries behind the last one have the scale 0, and so p = ds = 0.
  __device__ static void fetch_statistics(float* to, const HeadStatistics& of, std::int64_t first) {
    const int i = static_cast<int>(threadIdx.x) % kStreamed;
    const int part = static_cast<int>(threadIdx.x) / kStreamed;
    if (part > 2) return;
    const float* const from = part == 0 ? of.maximum : part == 1 ? of.scale : of.delta;
    const bool exists = first + i < of.queries;
    copy_async<4>(to + part * kStreamed + i, exists ? from + first + i : from, exists ? 4 : 0);
  }
};

template <class M, int Width>
__launch_bounds__(kMmaThreads, MmaDkv<M, Width>::kBlocks) __global__
    void mma_dkv_kernel(AttentionGradCall g, const float* deltas) {
  if constexpr (fovea::cuda::kHasTensorCores) MmaDkv<M, Width>::run(g, deltas);
}

std::size_t mma_dkv_bytes(const AttentionCall& c) {
  std::size_t bytes = 0;
  dispatch_mma(c, [&](auto product, auto columns) {
    bytes = MmaDkv<decltype(product), decltype(columns)::value>::bytes(c);
  });
  return bytes;
}

void mma_attention_dkv(const AttentionGradCall& g, const float* deltas) {
  const AttentionCall& c = g.forward;
  dispatch_mma(c, [&](auto product, auto columns) {
    using M = decltype(product);
    constexpr int kWidth = decltype(columns)::value;
    using Dkv = MmaDkv<M, kWidth>;
    launch(current_stream(), mma_dkv_kernel<M, kWidth>, blocks_of_heads(c, c.keys, Dkv::Warp::kOwn),
           kMmaThreads, Dkv::bytes(c), g, deltas);
  });
}

}  // namespace fovea::ops::cuda
