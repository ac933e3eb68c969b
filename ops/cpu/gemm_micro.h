// The innermost product: a kMr x kNr tile of C in registers. Only for files in ops/cpu/ that are
// compiled once per instruction set.
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

/// tile[kMr][kNr] = sum over k of a[k][i] * b[k][j]; only the first kCols vectors of each row.
template <int kCols>
void multiply_tile(std::int64_t depth, const float* a, const float* b, float* tile) {
  Vec sum[kMr][kCols] = {};
  for (std::int64_t k = 0; k < depth; ++k) {
    Vec right[kCols];
#pragma GCC unroll 2
    for (int j = 0; j < kCols; ++j) right[j] = load(b + j * kLanes);
#pragma GCC unroll 16
    for (int i = 0; i < kMr; ++i) {
#pragma GCC unroll 2
      for (int j = 0; j < kCols; ++j) sum[i][j] += a[i] * right[j];
    }
    a += kMr;
    b += kNr;
  }
#pragma GCC unroll 16
  for (int i = 0; i < kMr; ++i) {
#pragma GCC unroll 2
    for (int j = 0; j < kCols; ++j) store(tile + i * kNr + j * kLanes, sum[i][j]);
  }
}

}  // namespace fovea::ops::cpu::FOVEA_ISA
