// What the kernels of attention's derivative on tensor cores share: scores are rebuilt from
// products and statistics, as in backward.cu.
#pragma once

#include "ops/attention/mma_turn.cuh"

namespace fovea::ops::cuda {

/// Rows per streamed tile.
inline constexpr int kGradStreamed = 32;

/// What the forward pass and delta = sum(dy out) say about a query.
struct QueryStatistics {
  float maximum = 0, scale = 0, delta = 0;
};

/// The statistics of one image and head; `delta` [B, H, N].
struct HeadStatistics {
  const float *maximum, *scale, *delta;
  std::int64_t queries;

  __device__ HeadStatistics(const AttentionCall& c, const float* deltas, std::int64_t pair)
      : maximum(static_cast<const float*>(c.statistics) + pair * c.queries),
        scale(maximum + c.batch * c.heads * c.queries),
        delta(deltas + pair * c.queries),
        queries(c.queries) {}
  __device__ QueryStatistics at(std::int64_t query) const {
    if (query >= queries) return {};
    return {maximum[query], scale[query], delta[query]};
  }
};

/// The statistics of own queries: [strip][half].
template <class Warp, int Strips>
__device__ void load_statistics(QueryStatistics (&own)[Strips][2], const Warp& warp,
                                const HeadStatistics& of, std::int64_t block_first) {
  for (int i = 0; i < 2 * Strips; ++i) {
    own[i / 2][i % 2] = of.at(block_first + warp.row(i / 2, i % 2));
  }
}

/// Turns scores into probabilities p, and the products dp = dy v^T into ds = p (dp - delta), for
/// the first `count` columns; both are zero behind. statistics(strip, tile, i) are those of a sum.
template <class M, int Strips, int Tiles, class Statistics>
__device__ void differentiate(float (&scores)[Strips][Tiles][4], float (&dp)[Strips][Tiles][4],
                              int count, const Statistics& statistics) {
  for (int s = 0; s < Strips; ++s) {
    for (int n = 0; n < Tiles; ++n) {
      for (int i = 0; i < 4; ++i) {
        const QueryStatistics query = statistics(s, n, i);
        const bool exists = 8 * n + fragment_column() + i % 2 < count;
        const float p = M::exp(scores[s][n][i], query.maximum) * query.scale;
        scores[s][n][i] = exists ? p : 0;
        dp[s][n][i] = exists ? p * (dp[s][n][i] - query.delta) : 0;
      }
    }
  }
}

/// Writes the column sums of each kSummedRows rows of a tile, in which every warp has stored its
/// rows of dq, dk or dv: those of the `rows` of an image and head, of which the tile has the ones
/// from at.first on.
template <class T, int Rows, int Width>
__device__ void sum_columns(const RowTile<T, Rows, Width>& tile, const AttentionView& to,
                            const BlockOfHead& at, std::int64_t rows, std::int64_t columns) {
  constexpr int kRun = static_cast<int>(kSummedRows);
  static_assert(Rows % kRun == 0);
  if (to.data == nullptr) return;
  __syncthreads();  // all have stored their rows
  for (int i = static_cast<int>(threadIdx.x); i < Rows / kRun * Width; i += kMmaThreads) {
    const int run = i / Width, column = i % Width;
    const std::int64_t first = at.first + run * kRun;
    if (first >= rows || column >= columns) continue;
    const int count = rows - first < kRun ? static_cast<int>(rows - first) : kRun;
    float sum = 0;
    for (int row = 0; row < count; ++row) {
      sum += static_cast<float>(*tile.at(run * kRun + row, column));
    }
    static_cast<float*>(to.data)[at.image * to.batch + at.head * to.head + first / kRun * to.row +
                                 column * to.column] = sum;
  }
}

template <int Strips>
__device__ void fill(float (&factor)[Strips][2], float value) {
  for (int i = 0; i < 2 * Strips; ++i) factor[i / 2][i % 2] = value;
}

}  // namespace fovea::ops::cuda
