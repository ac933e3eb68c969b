// What happens to a computed tile of C: scaling, accumulation over blocks of k, bias, GELU and
// conversion. Only for files in ops/cpu/ that are compiled once per instruction set.
#pragma once

#include "ops/cpu/gemm.h"
#include "ops/cpu/gemm_micro.h"
#include "ops/detail/math.h"

namespace fovea::ops::cpu::FOVEA_ISA {

/// Where a tile of at most kMr x kNr belongs. T is C's type.
template <class T>
struct TileTarget {
  T* c;               ///< first element of the tile
  T* pre_activation;  ///< the same place in that tensor, or null
  float* sum;         ///< partial sums between blocks of k; C itself when it is f32
  std::int64_t c_stride, sum_stride;
  const float* bias;  ///< of the tile's first column or row, or null
  std::int64_t rows, cols;
  bool first, last;  ///< block of k
};

/// Whether the tile can be stored straight from the registers.
template <class T>
bool is_plain(const GemmCall& call, const TileTarget<T>& t) {
  if (sizeof(T) != sizeof(float) || t.rows != kMr || (t.cols != kNr && t.cols != kLanes)) {
    return false;
  }
  return call.alpha == 1 && call.bias_kind != GemmBias::per_row && !(t.last && call.gelu);
}

/// Finishes one row of the tile; `cols` is a constant where the tile is full.
template <class T>
inline void finish_row(const GemmCall& call, const TileTarget<T>& t, std::int64_t i, float* row,
                       std::int64_t cols) {
  T* c = t.c + i * t.c_stride;
  if (call.alpha != 1) {
    const auto alpha = static_cast<float>(call.alpha);
    for (std::int64_t j = 0; j < cols; ++j) row[j] *= alpha;
  }
  if (!t.first) {
    const float* sum = t.sum + i * t.sum_stride;
    for (std::int64_t j = 0; j < cols; ++j) row[j] += sum[j];
  } else {
    if (call.accumulate) {
      for (std::int64_t j = 0; j < cols; ++j) row[j] += static_cast<float>(c[j]);
    }
    if (call.bias_kind == GemmBias::per_column) {
      for (std::int64_t j = 0; j < cols; ++j) row[j] += t.bias[j];
    } else if (call.bias_kind == GemmBias::per_row) {
      for (std::int64_t j = 0; j < cols; ++j) row[j] += t.bias[i];
    }
  }
  if (!t.last) {
    float* sum = t.sum + i * t.sum_stride;
    for (std::int64_t j = 0; j < cols; ++j) sum[j] = row[j];
    return;
  }
  if (t.pre_activation != nullptr) {
    T* z = t.pre_activation + i * t.c_stride;
    for (std::int64_t j = 0; j < cols; ++j) z[j] = static_cast<T>(row[j]);
  }
  if (call.gelu) {
    for (int j = 0; j < kNr; ++j) row[j] *= detail::math::normal_cdf(row[j]);
  }
  for (std::int64_t j = 0; j < cols; ++j) c[j] = static_cast<T>(row[j]);
}

template <class T>
void finish_tile(const GemmCall& call, const TileTarget<T>& t, float* tile) {
  for (std::int64_t i = 0; i < t.rows; ++i) {
    if (t.cols == kNr) {
      finish_row(call, t, i, tile + i * kNr, kNr);
    } else {
      finish_row(call, t, i, tile + i * kNr, t.cols);
    }
  }
}

}  // namespace fovea::ops::cpu::FOVEA_ISA
