// Score tiles on CUDA: 32 rows of one tensor times 32 rows of another, by a block of four warps.
// Each warp owns eight of the first 32 rows, each lane one of the second. The N x M matrix is
// never stored.
#pragma once

#include "ops/attention/heads.cuh"
#include "ops/common/cuda/block_reduce.cuh"
#include "ops/common/math.h"

namespace fovea::ops::cuda {

inline constexpr int kTile = 32;                ///< rows on either side
inline constexpr int kOwn = kTile / kRowWarps;  ///< rows per warp
inline constexpr int kDepth = 32;               ///< columns multiplied per step
inline constexpr int kColumns = 2 * kWarp;      ///< result columns per block
inline constexpr int kPitch = kTile + 1;        ///< row pitch in shared memory

template <class A>
struct Tiles {
  A *left, *right;  ///< [kTile][kPitch]: the two factors
  A* weights;       ///< [kTile][kPitch]: each warp's rows of weights
  A* values;        ///< [kTile][kColumns]: the rows to be weighted
  int warp = static_cast<int>(threadIdx.x) / kWarp, lane = static_cast<int>(threadIdx.x) % kWarp;

  static constexpr std::size_t kBytes = (3 * kTile * kPitch + kTile * kColumns) * sizeof(A);

  __device__ Tiles() {
    A* const shared = dynamic_shared<A>();
    left = shared;
    right = left + kTile * kPitch;
    weights = right + kTile * kPitch;
    values = weights + kTile * kPitch;
  }

  /// products[r] += sum over columns of left row `own + r` times right row `lane`, for the tiles
  /// that start at these rows.
  template <class Rows>
  __device__ void multiply(A (&products)[kOwn], const Rows& x, std::int64_t first_x, const Rows& y,
                           std::int64_t first_y) const {
    for (std::int64_t column = 0; column < x.width; column += kDepth) {
      __syncthreads();  // all threads have read the previous columns
      for (int i = static_cast<int>(threadIdx.x); i < kTile * kDepth; i += kRowBlock) {
        const int row = i / kDepth, j = i % kDepth;
        left[row * kPitch + j] = x.at(first_x + row, column + j);
        right[row * kPitch + j] = y.at(first_y + row, column + j);
      }
      __syncthreads();
      const int depth = static_cast<int>(x.width - column < kDepth ? x.width - column : kDepth);
      for (int j = 0; j < depth; ++j) {
        const A factor = right[lane * kPitch + j];
        for (int r = 0; r < kOwn; ++r) {
          products[r] += left[(warp * kOwn + r) * kPitch + j] * factor;
        }
      }
    }
  }

  /// sums[r] += sum over the tile's rows k of weight[r] of lane k times row k of `x`, for the
  /// columns `column` + lane and kWarp further.
  template <class Rows>
  __device__ void weigh(A (&sums)[kOwn][2], const A (&weight)[kOwn], const Rows& x,
                        std::int64_t first, std::int64_t column) const {
    __syncthreads();  // all threads have read the previous values
    for (int i = static_cast<int>(threadIdx.x); i < kTile * kColumns; i += kRowBlock) {
      values[i] = x.at(first + i / kColumns, column + i % kColumns);
    }
    for (int r = 0; r < kOwn; ++r) weights[(warp * kOwn + r) * kPitch + lane] = weight[r];
    __syncthreads();
    const int rows = static_cast<int>(x.rows - first < kTile ? x.rows - first : kTile);
    for (int k = 0; k < rows; ++k) {
      const A low = values[k * kColumns + lane], high = values[k * kColumns + kWarp + lane];
      for (int r = 0; r < kOwn; ++r) {
        const A factor = weights[(warp * kOwn + r) * kPitch + k];
        sums[r][0] += factor * low;
        sums[r][1] += factor * high;
      }
    }
  }

  /// Writes `scale` times the sums of the valid rows to `to`.
  template <class T>
  __device__ void write(const A (&sums)[kOwn][2], const A (&scale)[kOwn], const HeadRows<T>& to,
                        std::int64_t first, std::int64_t column) const {
    for (int r = 0; r < kOwn; ++r) {
      const std::int64_t row = first + warp * kOwn + r;
      for (int half = 0; half < 2; ++half) {
        const std::int64_t j = column + half * kWarp + lane;
        if (row >= to.rows || j >= to.width) continue;
        const_cast<T*>(to.data)[row * to.row + j * to.column] =
            static_cast<T>(sums[r][half] * scale[r]);
      }
    }
  }
};

/// The block's place among tiles of `rows` queries or keys, and strips of result columns.
struct BlockOfTile : BlockOfHead {
  std::int64_t column = static_cast<std::int64_t>(blockIdx.y) * kColumns;

  __device__ BlockOfTile(const AttentionCall& c, std::int64_t rows) : BlockOfHead(c, rows, kTile) {}
};

inline dim3 grid_of_tiles(const AttentionCall& c, std::int64_t rows, std::int64_t columns) {
  const std::int64_t strips = columns > kColumns ? (columns + kColumns - 1) / kColumns : 1;
  return {blocks_of_heads(c, rows, kTile), static_cast<unsigned>(strips)};
}

}  // namespace fovea::ops::cuda
