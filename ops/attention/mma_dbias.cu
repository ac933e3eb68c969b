// The gradient of a bias of every pair on tensor cores: a block owns a tile of the bias and walks
// along the images and heads of its group.
#include "ops/attention/cuda.h"
#include "ops/attention/mma_grad.cuh"

namespace fovea::ops::cuda {

/// The images and heads whose gradients a block sums in order.
struct BiasGroup {
  std::int64_t sum, first, end;  ///< which sum, and its part of those that share the bias
  std::int64_t image, head;      ///< the first of these

  __device__ BiasGroup(const AttentionGradCall& g, std::int64_t index) : sum(index) {
    const std::int64_t slice = index / g.groups, group = index % g.groups;
    const std::int64_t heads = g.forward.heads / g.share_heads;  // of the bias
    const std::int64_t shared = g.share_batch * g.share_heads;
    first = group * shared / g.groups;
    end = (group + 1) * shared / g.groups;
    image = slice / heads * g.share_batch;
    head = slice % heads * g.share_heads;
  }
};

template <class M, int Width>
struct MmaDbias {
  using T = typename M::T;
  static constexpr int kKeys = kGradStreamed;
  using Warp = WarpRows<M, Width, 1>;
  using Own = typename Warp::Own;
  using Keys = RowTile<T, kKeys, Width>;
  using Bias = BiasTile<Warp::kOwn, kKeys, /*OwnKeys=*/false>;
  using Scores = float[1][kKeys / 8][4];
  static constexpr std::size_t kBytes = (2 * Own::kElements + 2 * Keys::kElements) * sizeof(T) +
                                        Bias::Rows::kElements * sizeof(float);

  /// Grid: x covers tiles of queries of each sum, y tiles of keys.
  __device__ static void run(const AttentionGradCall& g, const float* deltas,
                             std::int64_t query_tiles) {
    const AttentionCall& c = g.forward;
    const BiasGroup group(g, blockIdx.x / query_tiles);
    const std::int64_t first_query = blockIdx.x % query_tiles * Warp::kOwn;
    const std::int64_t first_key = std::int64_t{kKeys} * blockIdx.y;
    const int count = rows_of_tile<kKeys>(c.keys, static_cast<int>(blockIdx.y));
    const Warp warp(c.queries - first_query);
    const Own own_q{dynamic_shared<T>()}, own_dy{own_q.data + Own::kElements};
    const Keys keys{own_dy.data + Own::kElements}, values{keys.data + Keys::kElements};
    const Bias bias(c, values.data + Keys::kElements, 0);  // the same for all of the group
    bias.fetch(c, group.image, group.head, first_query, first_key);
    Scores sums = {};
    for (std::int64_t i = group.first; i < group.end; ++i) {
      const std::int64_t image = group.image + i / g.share_heads;
      const std::int64_t head = group.head + i % g.share_heads;
      __syncthreads();  // all threads have read the previous rows
      own_q.fetch(HeadRows<T>(c.q, image, head, c.queries, c.width), first_query);
      own_dy.fetch(HeadRows<T>(g.dy, image, head, c.queries, c.value_width), first_query);
      keys.fetch(HeadRows<T>(c.k, image, head, c.keys, c.width), first_key);
      values.fetch(HeadRows<T>(c.v, image, head, c.keys, c.value_width), first_key);
      commit_copies();
      wait_copies<0>();
      __syncthreads();
      const MmaTurn<M> rotation(c, image, head);
      if (rotation.exists()) {
        rotation.rows(own_q, first_query, c.queries);
        rotation.rows(keys, first_key, c.keys);
        __syncthreads();
      }
      if (warp.strips == 0) continue;
      QueryStatistics statistics[1][2];
      load_statistics(statistics, warp, HeadStatistics(c, deltas, image * c.heads + head),
                      first_query);
      Scores scores, ds;
      warp.score(scores, own_q, keys, static_cast<float>(c.scale), bias, count);
      warp.multiply(ds, own_dy, values, count);
      differentiate<M>(scores, ds, count, [&](int s, int, int j) { return statistics[s][j / 2]; });
      for (int j = 0; j < kKeys / 2; ++j) sums[0][j / 4][j % 4] += ds[0][j / 4][j % 4];
    }
    for (int i = 0; i < kKeys / 4; ++i) {  // in the place of the biases that the lane has read
      const float* const pair = sums[0][i / 2] + i % 2 * 2;
      store_pair(bias.rows.at(warp.row(0, i % 2), i / 2 * 8 + fragment_column()), pair[0], pair[1]);
    }
    __syncwarp();
    AttentionView to = g.dbias;
    to.data = static_cast<float*>(to.data) + group.sum * g.dbias_size;
    bias.rows.template write<kStrip>(
        HeadRows<float>(to, 0, 0, c.queries, c.keys).from_column(first_key), first_query,
        warp.first);
  }
};

template <class M, int Width>
__launch_bounds__(kMmaThreads, kBlocksOf<typename M::T, Width>) __global__
    void mma_dbias_kernel(AttentionGradCall g, const float* deltas, std::int64_t query_tiles) {
  if constexpr (fovea::cuda::kHasTensorCores) MmaDbias<M, Width>::run(g, deltas, query_tiles);
}

void mma_attention_dbias(const AttentionGradCall& g, const float* deltas) {
  const AttentionCall& c = g.forward;
  dispatch_mma(c, [&](auto product, auto columns) {
    using M = decltype(product);
    constexpr int kWidth = decltype(columns)::value;
    using Dbias = MmaDbias<M, kWidth>;
    constexpr int kQueries = Dbias::Warp::kOwn;
    const std::int64_t sums = c.batch * c.heads / (g.share_batch * g.share_heads) * g.groups;
    const std::int64_t query_tiles = (c.queries + kQueries - 1) / kQueries;
    const dim3 grid(static_cast<unsigned>(sums * query_tiles),
                    static_cast<unsigned>((c.keys + Dbias::kKeys - 1) / Dbias::kKeys));
    launch(current_stream(), mma_dbias_kernel<M, kWidth>, grid, kMmaThreads, Dbias::kBytes, g,
           deltas, query_tiles);
  });
}

}  // namespace fovea::ops::cuda
