// Vector helpers of the GEMM: partial loads, and transposing a square of 32-bit lanes in registers.
#pragma once

#include <cstdint>

#include "ops/common/cpu/vectors.h"

namespace fovea::ops::cpu::FOVEA_ISA {

using Vec = Vector<float>;

#if defined(FOVEA_ISA_v4)
template <class V>
inline V zip_low(V a, V b) {
  return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}
template <class V>
inline V zip_high(V a, V b) {
  return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15,
                                 31);
}
#elif defined(FOVEA_ISA_v3)
template <class V>
inline V zip_low(V a, V b) {
  return __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
}
template <class V>
inline V zip_high(V a, V b) {
  return __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
}
#else
template <class V>
inline V zip_low(V a, V b) {
  return __builtin_shufflevector(a, b, 0, 4, 1, 5);
}
template <class V>
inline V zip_high(V a, V b) {
  return __builtin_shufflevector(a, b, 2, 6, 3, 7);
}
#endif

/// Transposes x[i][j] to x[j][i] in log2(kLanes<float>) rounds of perfect shuffles.
template <class V>
inline void transpose(V (&x)[kLanes<float>]) {
#pragma GCC unroll 4
  for (int round = 1; round < kLanes<float>; round *= 2) {
    V y[kLanes<float>];
#pragma GCC unroll 8
    for (int i = 0; i < kLanes<float> / 2; ++i) {
      y[2 * i] = zip_low(x[i], x[i + kLanes<float> / 2]);
      y[2 * i + 1] = zip_high(x[i], x[i + kLanes<float> / 2]);
    }
#pragma GCC unroll 16
    for (int i = 0; i < kLanes<float>; ++i) x[i] = y[i];
  }
}

}  // namespace fovea::ops::cpu::FOVEA_ISA
