// GEMM packing: a strip of kWidth rows of A (or columns of B) becomes dst[k][kWidth] in f32,
// padded with zeros.
#pragma once

#include "ops/gemm/cpu_gemm_vector.h"

namespace fovea::ops::cpu::FOVEA_ISA {

/// `count` rows of A, or columns of B, over `depth` values of k: element (i, k) is src[i * line +
/// k * step].
struct Lines {
  std::int64_t line, step;
  std::int64_t count, depth;
};

/// Packs one k of one strip from adjacent elements, of which the first `valid` exist.
template <int kWidth, class T>
inline void pack_adjacent(const T* src, std::int64_t valid, float* dst) {
  if (valid >= kWidth) {
    for (int i = 0; i < kWidth; ++i) dst[i] = src[i];
  } else {
    for (int i = 0; i < kWidth; ++i) dst[i] = i < valid ? static_cast<float>(src[i]) : 0.0f;
  }
}

/// Packs lines that are contiguous along k (step == 1): squares of kLanes<float> x kLanes<float>
/// are transposed in registers. If kWidth < kLanes<float>, each store overlaps the next one, and
/// dst needs kLanes<float> extra elements.
template <int kWidth, class T>
void pack_lines(const T* src, const Lines& s, std::int64_t valid, float* dst) {
  constexpr int kGroups = (kWidth + kLanes<float> - 1) / kLanes<float>;
  for (std::int64_t k = 0; k < s.depth; k += kLanes<float>) {
    const std::int64_t count = s.depth - k < kLanes<float> ? s.depth - k : kLanes<float>;
    for (int group = 0; group < kGroups; ++group) {
      const std::int64_t lines = valid - group * kLanes<float>;
      const T* at = src + group * kLanes<float> * s.line + k;
      Vec square[kLanes<float>];
      if (count == kLanes<float> && lines >= kLanes<float>) {
#pragma GCC unroll 16
        for (int i = 0; i < kLanes<float>; ++i) square[i] = load<Vec>(at + i * s.line);
      } else {
        for (int i = 0; i < kLanes<float>; ++i) {
          square[i] = i >= lines               ? Vec{}
                      : count == kLanes<float> ? load<Vec>(at + i * s.line)
                                               : load_part(at + i * s.line, count);
        }
      }
      transpose(square);
      float* out = dst + k * kWidth + group * kLanes<float>;
      for (std::int64_t i = 0; i < count; ++i) store(out + i * kWidth, square[i]);
    }
  }
}

template <int kWidth, class T>
void pack_strided(const T* src, const Lines& s, std::int64_t valid, float* dst) {
  for (std::int64_t k = 0; k < s.depth; ++k) {
    for (int i = 0; i < kWidth; ++i) {
      *dst++ = i < valid ? static_cast<float>(src[i * s.line + k * s.step]) : 0.0f;
    }
  }
}

/// Packs all lines into strips of kWidth, with `stride` between strips. Adjacent elements are read
/// in memory order across all strips, which suits the hardware prefetcher best.
template <int kWidth, class T>
void pack_strips(const T* src, const Lines& s, float* dst, std::int64_t stride) {
  if (s.line == 1) {
    for (std::int64_t k = 0; k < s.depth; ++k) {
      float* to = dst + k * kWidth;
      for (std::int64_t i = 0; i < s.count; i += kWidth, to += stride) {
        pack_adjacent<kWidth>(src + k * s.step + i, s.count - i, to);
      }
    }
    return;
  }
  for (std::int64_t i = 0; i < s.count; i += kWidth, dst += stride) {
    if (s.step == 1) {
      pack_lines<kWidth>(src + i * s.line, s, s.count - i, dst);
    } else {
      pack_strided<kWidth>(src + i * s.line, s, s.count - i, dst);
    }
  }
}

}  // namespace fovea::ops::cpu::FOVEA_ISA
