// Blockwise transposition of matrices.
#pragma once

#include <cstdint>

#include "ops/common/cpu/vectors.h"

namespace fovea::ops::cpu::FOVEA_ISA {

/// A matrix with `line` elements between rows.
template <class T>
struct Matrix {
  T* data;
  std::int64_t line;

  T* row(std::int64_t i) const { return data + i * line; }
  Matrix at(std::int64_t i, std::int64_t j) const { return {row(i) + j, line}; }
};

/// For T of 32 bits.
template <class T>
inline void transpose_4x4(Matrix<const T> from, Matrix<T> to) {
  using V = VectorOf<float, 16>::type;
  V a, b, c, d;
  __builtin_memcpy(&a, from.row(0), sizeof a);
  __builtin_memcpy(&b, from.row(1), sizeof b);
  __builtin_memcpy(&c, from.row(2), sizeof c);
  __builtin_memcpy(&d, from.row(3), sizeof d);
  const V ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5);
  const V ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  const V cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5);
  const V cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  a = __builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5);
  b = __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7);
  c = __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5);
  d = __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7);
  __builtin_memcpy(static_cast<void*>(to.row(0)), &a, sizeof a);
  __builtin_memcpy(static_cast<void*>(to.row(1)), &b, sizeof b);
  __builtin_memcpy(static_cast<void*>(to.row(2)), &c, sizeof c);
  __builtin_memcpy(static_cast<void*>(to.row(3)), &d, sizeof d);
}

/// to[j][i] = from[i][j] for i < rows and j < columns.
template <class T, class A>
void transpose(Matrix<const T> from, std::int64_t rows, std::int64_t columns, Matrix<A> to) {
  std::int64_t i = 0;
  if constexpr (sizeof(T) == 4) {
    for (; i + 4 <= rows; i += 4) {
      std::int64_t j = 0;
      for (; j + 4 <= columns; j += 4) transpose_4x4(from.at(i, j), to.at(j, i));
      for (; j < columns; ++j)
        for (std::int64_t e = i; e < i + 4; ++e) to.row(j)[e] = from.row(e)[j];
    }
  }
  for (; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) to.row(j)[i] = static_cast<A>(from.row(i)[j]);
}

}  // namespace fovea::ops::cpu::FOVEA_ISA
