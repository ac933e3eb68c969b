// Factors and sums of products on tensor cores, in bf16 and in f32. Fragments are those of the PTX
// manual for mma.m16n8k16 and mma.m16n8k8: in both, a word of a factor is four bytes of a row, so
// that ldmatrix lays out both types, and lane 4 r + c holds the sums of rows r and r + 8 in the
// columns 2 c and 2 c + 1.
#pragma once

#include "engine/cuda/tensor_core.cuh"
#include "ops/common/math.h"

namespace fovea::ops::cuda {

using fovea::cuda::approximate_exp2;
using fovea::cuda::commit_copies;
using fovea::cuda::copy_async;
using fovea::cuda::exponential;
using fovea::cuda::kWarp;
using fovea::cuda::load_matrices;
using fovea::cuda::load_matrices_transposed;
using fovea::cuda::load_pack;
using fovea::cuda::mma_bf16;
using fovea::cuda::mma_tf32;
using fovea::cuda::Pack;
using fovea::cuda::pack_bf16;
using fovea::cuda::round_to_tf32;
using fovea::cuda::store_pack;
using fovea::cuda::wait_copies;

__device__ inline int lane() { return static_cast<int>(threadIdx.x) % kWarp; }
/// The fragment row (r above; the other one is 8 further) and first column of this lane.
__device__ inline int fragment_row() { return lane() / 4; }
__device__ inline int fragment_column() { return lane() % 4 * 2; }

/// Access two floats side by side, at a fragment's place in shared memory. Lanes of odd rows start
/// with the second one, since the first is in a bank of the row before.
__device__ inline void store_pair(float* to, float first, float second) {
  const int odd = fragment_row() % 2;
  to[odd] = odd != 0 ? second : first;
  to[1 - odd] = odd != 0 ? first : second;
}
__device__ inline Pack<float, 2> load_pair(const float* from) {
  const int odd = fragment_row() % 2;
  const float a = from[odd], b = from[1 - odd];
  return {{odd != 0 ? b : a, odd != 0 ? a : b}};
}

/// Products of bf16 with f32 sums.
struct Bf16Product {
  using T = bf16;
  static constexpr int kDepth = 16;  ///< columns multiplied by one instruction

  struct Left {  ///< 16 rows
    std::uint32_t words[4];
  };
  struct Right {  ///< 8 rows
    std::uint32_t words[2];
  };
  struct Accumulator {
    float values[4] = {};
    __device__ float at(int i) const { return values[i]; }
  };

  __device__ static Left left(const std::uint32_t (&w)[4]) { return {{w[0], w[1], w[2], w[3]}}; }
  __device__ static Right right(std::uint32_t first, std::uint32_t second) {
    return {{first, second}};
  }
  __device__ static void multiply(Accumulator& sum, const Left& left, const Right& right) {
    mma_bf16(sum.values, left.words, right.words);
  }

  /// The factor whose columns are those of two tiles of sums, rounded to bf16.
  __device__ static Left weights(const float (*tiles)[4]) {
    return {{pack_bf16(tiles[0][0], tiles[0][1]), pack_bf16(tiles[0][2], tiles[0][3]),
             pack_bf16(tiles[1][0], tiles[1][1]), pack_bf16(tiles[1][2], tiles[1][3])}};
  }
  /// The factors that such weights multiply: kDepth rows, of `pitch` elements each, at two times
  /// eight columns.
  __device__ static void load_columns(Right (&columns)[2], const T* rows, int pitch) {
    std::uint32_t words[4];
    load_matrices_transposed(words, rows + lane() % 16 * pitch + lane() / 16 * 8);
    columns[0] = right(words[0], words[1]);
    columns[1] = right(words[2], words[3]);
  }
  /// Access two adjacent elements at a fragment's place in shared memory.
  __device__ static void store(T* to, float first, float second) {
    *reinterpret_cast<std::uint32_t*>(to) = pack_bf16(first, second);
  }
  __device__ static Pack<float, 2> load(const T* from) {
    const Pack<T, 2> pair = load_pack<4>(from);
    return {{static_cast<float>(pair.v[0]), static_cast<float>(pair.v[1])}};
  }

  /// exp(score - maximum), within what bf16 keeps of it.
  __device__ static float exp(float score, float maximum) {
    constexpr float kLog2E = 1.44269504f;
    return approximate_exp2(detail::math::fma(score, kLog2E, -maximum * kLog2E));
  }
};

/// Products of f32 with f32 sums. Terms = 1: of the factors rounded to TF32. Terms = 3: each factor
/// is a sum of two TF32, high and low, and low times low, smaller than an f32's last place, is left
/// out. Tensor cores may truncate sums, so that the large ones of instructions are added outside
/// (Ootomo and Yokota 2022, Recovering single precision accuracy from Tensor Cores).
template <int Terms>
struct Tf32Product {
  using T = float;
  static constexpr int kDepth = 8;

  template <int Words>
  struct Factor {
    std::uint32_t high[Words], low[Words];

    __device__ void set(int word, float x) {
      high[word] = round_to_tf32(x);
      if constexpr (Terms == 3) {
        low[word] = round_to_tf32(x - __builtin_bit_cast(float, high[word]));
      }
    }
    __device__ void set(int word, std::uint32_t bits) {
      set(word, __builtin_bit_cast(float, bits));
    }
  };
  using Left = Factor<4>;
  using Right = Factor<2>;
  struct Accumulator {
    float large[4] = {}, small[4] = {};
    __device__ float at(int i) const { return Terms == 3 ? large[i] + small[i] : large[i]; }
  };

  __device__ static Left left(const std::uint32_t (&words)[4]) {
    Left factor;
    for (int i = 0; i < 4; ++i) factor.set(i, words[i]);
    return factor;
  }
  template <class Word>
  __device__ static Right right(Word first, Word second) {
    Right factor;
    factor.set(0, first);
    factor.set(1, second);
    return factor;
  }
  __device__ static void multiply(Accumulator& sum, const Left& left, const Right& right) {
    if constexpr (Terms == 3) {
      mma_tf32(sum.small, left.low, right.high);
      mma_tf32(sum.small, left.high, right.low);
      float part[4] = {};
      mma_tf32(part, left.high, right.high);
      for (int i = 0; i < 4; ++i) sum.large[i] += part[i];
    } else {
      mma_tf32(sum.large, left.high, right.high);
    }
  }

  /// The factor whose columns are those of one tile of sums, in the order 0, 2, 4, 6, 1, 3, 5, 7:
  /// so no lane needs another's sums.
  __device__ static Left weights(const float (*tiles)[4]) {
    Left factor;
    for (int i = 0; i < 4; ++i) factor.set(i, tiles[0][i / 2 + i % 2 * 2]);
    return factor;
  }
  /// Rows in the same order.
  __device__ static void load_columns(Right (&columns)[2], const T* rows, int pitch) {
    const T* const row = rows + fragment_column() * pitch + fragment_row();
    columns[0] = right(row[0], row[pitch]);
    columns[1] = right(row[8], row[pitch + 8]);
  }
  __device__ static void store(T* to, float first, float second) { store_pair(to, first, second); }
  __device__ static Pack<float, 2> load(const T* from) { return load_pair(from); }

  __device__ static float exp(float score, float maximum) { return exponential(score - maximum); }
};

}  // namespace fovea::ops::cuda
