// The innermost product: a tile of C in registers. Only for files in ops/cpu/ that are compiled
// once per instruction set.
#pragma once

#include "ops/cpu/gemm_vector.h"

namespace fovea::ops::cpu::FOVEA_ISA {

// Tiles fill the register file: 14 * 2 of 32 registers (v4), 6 * 2 of 16 (v3), 4 * 2 of 16 (v2).
#if defined(FOVEA_ISA_v4)
inline constexpr int kMr = 14;
#elif defined(FOVEA_ISA_v3)
inline constexpr int kMr = 6;
#else
inline constexpr int kMr = 4;
#endif
inline constexpr int kNr = 2 * kLanes;

/// kMr rows of A: element (i, k) is data[i + k * step].
struct Panel {
  const float* data;
  std::int64_t step;
};

/// Where a tile goes: rows `stride` apart.
struct TileOutput {
  float* c;
  std::int64_t stride;
  bool add;           ///< to what is there
  const float* bias;  ///< one value per column, added too, or null
};

/// c[i][j] = sum over k of a(i, k) * b[k][j], for kRows rows and kCols vectors of columns; b is
/// packed kNr wide.
template <int kRows, int kCols>
void multiply_tile(std::int64_t depth, const Panel& panel, const float* b, const TileOutput& out) {
  const float* a = panel.data;
  Vec sum[kRows][kCols] = {};
  for (std::int64_t k = 0; k < depth; ++k) {
    Vec right[kCols];
#pragma GCC unroll 2
    for (int j = 0; j < kCols; ++j) right[j] = load(b + j * kLanes);
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
      for (int j = 0; j < kCols; ++j) sum[i][j] += a[i] * right[j];
    }
    a += panel.step;
    b += kNr;
  }
  if (out.bias != nullptr) {
#pragma GCC unroll 2
    for (int j = 0; j < kCols; ++j) {
      const Vec bias = load(out.bias + j * kLanes);
#pragma GCC unroll 16
      for (int i = 0; i < kRows; ++i) sum[i][j] += bias;
    }
  }
  float* c = out.c;
  if (out.add) {
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
      for (int j = 0; j < kCols; ++j) sum[i][j] += load(c + i * out.stride + j * kLanes);
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
    for (int j = 0; j < kCols; ++j) store(c + i * out.stride + j * kLanes, sum[i][j]);
  }
}

/// The smallest kernel that covers `rows` rows and `cols` columns.
inline void multiply_tile(std::int64_t depth, const Panel& a, const float* b, std::int64_t rows,
                          std::int64_t cols, const TileOutput& out) {
  constexpr int kTwoThirds = (2 * kMr + 2) / 3, kThird = (kMr + 2) / 3;
  if (cols > kLanes) {
    if (rows > kTwoThirds) return multiply_tile<kMr, 2>(depth, a, b, out);
    if (rows > kThird) return multiply_tile<kTwoThirds, 2>(depth, a, b, out);
    return multiply_tile<kThird, 2>(depth, a, b, out);
  }
  if (rows > kTwoThirds) return multiply_tile<kMr, 1>(depth, a, b, out);
  if (rows > kThird) return multiply_tile<kTwoThirds, 1>(depth, a, b, out);
  multiply_tile<kThird, 1>(depth, a, b, out);
}

}  // namespace fovea::ops::cpu::FOVEA_ISA
