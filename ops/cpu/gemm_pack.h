// Packing: a strip of kWidth rows of A (or columns of B) becomes dst[k][kWidth], in f32, padded
// with zeros. Only for files in ops/cpu/ that are compiled once per instruction set.
#pragma once

#include "ops/cpu/gemm_vector.h"

namespace fovea::ops::cpu::FOVEA_ISA {

/// `valid` lines of `depth` elements: element (i, k) is src[i * line + k * step].
struct Lines {
  std::int64_t line, step;
  std::int64_t valid, depth;
};

/// Lines adjacent in memory (line == 1): each k is one short copy.
template <int kWidth, class T>
void pack_adjacent(const T* src, const Lines& s, float* dst) {
  for (std::int64_t k = 0; k < s.depth; ++k) {
    if (s.valid == kWidth) {
      for (int i = 0; i < kWidth; ++i) dst[i] = src[i];
    } else {
      for (int i = 0; i < kWidth; ++i) dst[i] = i < s.valid ? static_cast<float>(src[i]) : 0.0f;
    }
    src += s.step;
    dst += kWidth;
  }
}

/// Lines contiguous along k (step == 1): squares of kLanes x kLanes are transposed in registers.
/// When kWidth < kLanes each store is overlapped by the next; dst needs kLanes elements to spare.
template <int kWidth, class T>
void pack_lines(const T* src, const Lines& s, float* dst) {
  constexpr int kGroups = (kWidth + kLanes - 1) / kLanes;
  for (std::int64_t k = 0; k < s.depth; k += kLanes) {
    const std::int64_t count = s.depth - k < kLanes ? s.depth - k : kLanes;
    for (int group = 0; group < kGroups; ++group) {
      const std::int64_t lines = s.valid - group * kLanes;
      const T* at = src + group * kLanes * s.line + k;
      Vec square[kLanes];
      if (count == kLanes && lines >= kLanes) {
#pragma GCC unroll 16
        for (int i = 0; i < kLanes; ++i) square[i] = load(at + i * s.line);
      } else {
        for (int i = 0; i < kLanes; ++i) {
          square[i] = i >= lines        ? Vec{}
                      : count == kLanes ? load(at + i * s.line)
                                        : load_part(at + i * s.line, count);
        }
      }
      transpose(square);
      float* out = dst + k * kWidth + group * kLanes;
      for (std::int64_t i = 0; i < count; ++i) store(out + i * kWidth, square[i]);
    }
  }
}

template <int kWidth, class T>
void pack_strided(const T* src, const Lines& s, float* dst) {
  for (std::int64_t k = 0; k < s.depth; ++k) {
    for (int i = 0; i < kWidth; ++i) {
      *dst++ = i < s.valid ? static_cast<float>(src[i * s.line + k * s.step]) : 0.0f;
    }
  }
}

template <int kWidth, class T>
void pack_strip(const T* src, const Lines& s, float* dst) {
  if (s.line == 1) return pack_adjacent<kWidth>(src, s, dst);
  if (s.step == 1) return pack_lines<kWidth>(src, s, dst);
  pack_strided<kWidth>(src, s, dst);
}

}  // namespace fovea::ops::cpu::FOVEA_ISA
