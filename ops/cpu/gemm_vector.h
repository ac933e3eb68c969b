// Vectors of f32, loaded from f32 and bf16, and a transposition of a square of them. Only for files
// in ops/cpu/ that are compiled once per instruction set.
#pragma once

#include <cstdint>

#include "engine/dtype.h"
#include "ops/cpu/vectors.h"

namespace fovea::ops::cpu::FOVEA_ISA {

inline constexpr int kLanes = kVectorBytes / 4;

using Vec = VectorOf<float>::type;
using VecBits = VectorOf<std::uint32_t>::type;
/// The same at any address.
using VecAt = float __attribute__((vector_size(4 * kLanes), aligned(4), may_alias));
using HalvesAt = std::uint16_t __attribute__((vector_size(2 * kLanes), aligned(2), may_alias));

inline Vec load(const float* p) { return *reinterpret_cast<const VecAt*>(p); }
inline Vec load(const bf16* p) {
  const auto halves = *reinterpret_cast<const HalvesAt*>(p);
  return (Vec)(__builtin_convertvector(halves, VecBits) << 16);
}
inline void store(float* p, Vec v) { *reinterpret_cast<VecAt*>(p) = v; }

/// The first `count` lanes, the rest zero.
template <class T>
Vec load_part(const T* p, std::int64_t count) {
  T lanes[kLanes] = {};
  for (std::int64_t i = 0; i < count; ++i) lanes[i] = p[i];
  return load(lanes);
}

#if defined(FOVEA_ISA_v4)
inline Vec zip_low(Vec a, Vec b) {
  return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}
inline Vec zip_high(Vec a, Vec b) {
  return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15,
                                 31);
}
#elif defined(FOVEA_ISA_v3)
inline Vec zip_low(Vec a, Vec b) { return __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11); }
inline Vec zip_high(Vec a, Vec b) {
  return __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
}
#else
inline Vec zip_low(Vec a, Vec b) { return __builtin_shufflevector(a, b, 0, 4, 1, 5); }
inline Vec zip_high(Vec a, Vec b) { return __builtin_shufflevector(a, b, 2, 6, 3, 7); }
#endif

/// x[i][j] becomes x[j][i]: log2(kLanes) rounds of perfect shuffles.
inline void transpose(Vec (&x)[kLanes]) {
#pragma GCC unroll 4
  for (int round = 1; round < kLanes; round *= 2) {
    Vec y[kLanes];
#pragma GCC unroll 8
    for (int i = 0; i < kLanes / 2; ++i) {
      y[2 * i] = zip_low(x[i], x[i + kLanes / 2]);
      y[2 * i + 1] = zip_high(x[i], x[i + kLanes / 2]);
    }
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; ++i) x[i] = y[i];
  }
}

}  // namespace fovea::ops::cpu::FOVEA_ISA
