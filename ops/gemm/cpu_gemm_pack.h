// GEMM packing: a strip of kWidth rows of A (or columns of B) becomes dst[step][kWidth], padded
// with zeros. A step is what an E holds: one k in f32, or a pair of bf16.
#pragma once

#include "ops/common/cpu/multiply_add.h"
#include "ops/common/cpu/prefetch.h"
#include "ops/gemm/cpu_gemm_vector.h"

namespace fovea::ops::cpu::FOVEA_ISA {

/// `count` rows of A, or columns of B, over `depth` values of k: element (i, k) is src[i * line +
/// k * step].
struct Lines {
  std::int64_t line, step;
  std::int64_t count, depth;
};

/// The element at p or, in a pair, also the one `step` behind it if at least two are `left`.
template <class E, class T>
[[gnu::always_inline]] inline E read(const T* p, std::int64_t step, std::int64_t left) {
  if constexpr (std::is_same_v<E, Bf16Pair>) {
    const std::uint32_t high = left > 1 ? 0xffff0000u : 0;
    return {p->bits | (std::uint32_t{p[left > 1 ? step : 0].bits} << 16 & high)};
  } else {
    return static_cast<E>(*p);
  }
}

/// A vector of E along k from p on, where `left` elements are left; the rest is zero.
template <class E, class T>
[[gnu::always_inline]] inline Words<E> read_words(const T* p, std::int64_t left) {
  if (left >= kLanes<float> * kPerStep<E>) {
    if constexpr (std::is_same_v<E, Bf16Pair>) {
      return load_words(reinterpret_cast<const Bf16Pair*>(p));
    } else {
      return load<Vec>(p);
    }
  }
  E part[kLanes<float>] = {};
  for (std::int64_t i = 0; i * kPerStep<E> < left; ++i)
    part[i] = read<E>(p + i * kPerStep<E>, 1, left - i * kPerStep<E>);
  return load_words(part);
}

/// A vector of the elements at p, of which the first `valid` exist; the rest are zero.
template <class V, class T>
[[gnu::always_inline]] inline V load_valid(const T* p, std::int64_t valid) {
  if (valid >= kLanes<float>) return load<V>(p);
  return load_part<V>(p, larger(0, valid));
}

/// Packs one step of one strip from adjacent elements, of which the first `valid` exist.
template <int kWidth, class E, class T>
[[gnu::always_inline]] inline void pack_adjacent(const T* src, std::int64_t step, std::int64_t left,
                                                 std::int64_t valid, E* dst) {
  for (int i = 0; i < kWidth; i += kLanes<float>) {
    const std::int64_t count = smaller(kLanes<float>, kWidth - i);
    if constexpr (std::is_same_v<E, Bf16Pair>) {
      using Halves = Vector<std::uint16_t, kVectorBytes / 2>;
      const auto low = load_valid<Halves>(&src[i].bits, valid - i);
      const auto high = left > 1 ? load_valid<Halves>(&src[i + step].bits, valid - i) : Halves{};
      store_part(&dst[i].bits, pairs(low, high), count);
    } else {
      store_part(dst + i, load_valid<Vec>(src + i, valid - i), count);
    }
  }
}

/// Packs lines that are contiguous along k (step == 1): squares of kLanes<float> x kLanes<float>
/// are transposed in registers. If kWidth < kLanes<float>, each store overlaps the next one, and
/// dst needs kLanes<float> extra elements.
template <int kWidth, class E, class T>
void pack_lines(const T* src, const Lines& s, std::int64_t valid, E* dst) {
  constexpr int kGroups = (kWidth + kLanes<float> - 1) / kLanes<float>;
  constexpr std::int64_t kSquare = kLanes<float> * kPerStep<E>;  // k in a square
  for (std::int64_t k = 0; k < s.depth; k += kSquare) {
    const std::int64_t left = s.depth - k;
    for (int group = 0; group < kGroups; ++group) {
      const std::int64_t lines = valid - group * kLanes<float>;
      const T* at = src + group * kLanes<float> * s.line + k;
      Words<E> square[kLanes<float>];
      if (left >= kSquare && lines >= kLanes<float>) {
#pragma GCC unroll 16
        for (int i = 0; i < kLanes<float>; ++i) square[i] = read_words<E>(at + i * s.line, kSquare);
      } else {
        for (int i = 0; i < kLanes<float>; ++i)
          square[i] = i < lines ? read_words<E>(at + i * s.line, left) : Words<E>{};
      }
      transpose(square);
      E* out = dst + k / kPerStep<E> * kWidth + group * kLanes<float>;
      for (std::int64_t i = 0; i < kLanes<float> && i * kPerStep<E> < left; ++i)
        store_words(out + i * kWidth, square[i]);
    }
  }
}

template <int kWidth, class E, class T>
void pack_strided(const T* src, const Lines& s, std::int64_t valid, E* dst) {
  for (std::int64_t k = 0; k < s.depth; k += kPerStep<E>) {
    for (int i = 0; i < kWidth; ++i) {
      *dst++ = i < valid ? read<E>(src + i * s.line + k * s.step, s.step, s.depth - k) : E{};
    }
  }
}

inline constexpr std::int64_t kGroup = 8;  // k that are packed together

/// Packs all lines into strips of kWidth, with `stride` between strips. If lines are adjacent, a
/// few k are packed into all strips while the next few are prefetched.
template <int kWidth, class E, class T>
void pack_strips(const T* src, const Lines& s, E* dst, std::int64_t stride) {
  if (s.line == 1) {
    for (std::int64_t begin = 0; begin < s.depth; begin += kGroup) {
      const std::int64_t end = smaller(begin + kGroup, s.depth);
      for (std::int64_t k = begin; k < end; ++k)
        prefetch<1, PrefetchKind::read>(src + (k + kGroup) * s.step, s.count);
      E* to = dst + begin / kPerStep<E> * kWidth;
      for (std::int64_t i = 0; i < s.count; i += kWidth, to += stride) {
        for (std::int64_t k = begin; k < end; k += kPerStep<E>)
          pack_adjacent<kWidth>(src + k * s.step + i, s.step, s.depth - k, s.count - i,
                                to + (k - begin) / kPerStep<E> * kWidth);
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

/// Fills packed strips with zero from the last step of their depth up to `steps`.
template <int kWidth, class E>
void clear_strips(const Lines& s, std::int64_t steps, E* dst, std::int64_t stride) {
  const std::int64_t packed = ceil_div(s.depth, kPerStep<E>);
  for (std::int64_t i = 0; i < s.count; i += kWidth, dst += stride) {
    for (std::int64_t j = packed * kWidth; j < steps * kWidth; ++j) dst[j] = {};
  }
}

}  // namespace fovea::ops::cpu::FOVEA_ISA
