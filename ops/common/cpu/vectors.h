// The SIMD layer: vector types of the instruction set's width, unaligned loads and stores, sums
// across lanes. Only for files that are compiled once per instruction set.
#pragma once

#include <cstdint>
#include <type_traits>

#include "engine/dtype.h"

#if defined(__AVX512BW__)
#include <immintrin.h>
#endif

namespace fovea::ops::cpu::FOVEA_ISA {

#if defined(FOVEA_ISA_v4)
inline constexpr int kVectorBytes = 64;
#elif defined(FOVEA_ISA_v3)
inline constexpr int kVectorBytes = 32;
#else
inline constexpr int kVectorBytes = 16;
#endif

template <class A, int kBytes = kVectorBytes>
struct VectorOf {
  typedef A type __attribute__((vector_size(kBytes)));
};
template <class A, int kBytes = kVectorBytes>
using Vector = typename VectorOf<A, kBytes>::type;
/// Number of elements in a whole vector.
template <class A>
inline constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(A));

// One instruction each in AVX-512, where GCC 12 converts the two halves of a vector. Its forms
// without a mask have lanes that -Wmaybe-uninitialized takes for read.
#if defined(__AVX512BW__)
inline constexpr __mmask16 kAllLanes = 0xffff;
#endif

/// Lanes of 16 bits as lanes of 32, the upper ones zero.
template <class Halves>
[[gnu::always_inline]] inline auto widened(Halves x) {
  using Wide = Vector<std::uint32_t, 2 * sizeof(Halves)>;
#if defined(__AVX512BW__)
  if constexpr (sizeof(Wide) == 64)
    return reinterpret_cast<Wide>(
        _mm512_maskz_cvtepu16_epi32(kAllLanes, reinterpret_cast<__m256i>(x)));
#endif
  return __builtin_convertvector(x, Wide);
}
/// The lower 16 bits of each lane.
template <class Wide>
[[gnu::always_inline]] inline auto lower_halves(Wide x) {
  using Halves = Vector<std::uint16_t, sizeof(Wide) / 2>;
#if defined(__AVX512BW__)
  if constexpr (sizeof(Wide) == 64)
    return reinterpret_cast<Halves>(
        _mm512_maskz_cvtepi32_epi16(kAllLanes, reinterpret_cast<__m512i>(x)));
#endif
  return __builtin_convertvector(x, Halves);
}

/// Loads as many elements from p as V has; bf16 is widened to f32.
template <class V, class T>
[[gnu::always_inline]] inline V load(const T* p) {
  if constexpr (std::is_same_v<T, bf16>) {
    return reinterpret_cast<V>(widened(load<Vector<std::uint16_t, sizeof(V) / 2>>(&p->bits)) << 16);
  } else {
    V v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
  }
}

// Whether the set multiplies pairs of bf16, and whether in tiles: ops/common/cpu/multiply_add.h.
#if defined(FOVEA_ISA_amx) || defined(FOVEA_ISA_amx_twin)
inline constexpr bool kMultipliesPairs = true, kMultipliesTiles = true;
#elif defined(FOVEA_ISA_v4bf16) || defined(FOVEA_ISA_v4bf16_twin)
inline constexpr bool kMultipliesPairs = true, kMultipliesTiles = false;
#else
inline constexpr bool kMultipliesPairs = false, kMultipliesTiles = false;
#endif

/// The bits of floats rounded to bf16. Sets that multiply bf16 round subnormal numbers to zero, as
/// their instructions do.
template <class V>
[[gnu::always_inline]] inline auto rounded(V v) {
#if defined(FOVEA_ISA_v4bf16) || defined(FOVEA_ISA_amx)
  if constexpr (sizeof(V) == 64) {
    return reinterpret_cast<Vector<std::uint16_t, 32>>(
        _mm512_cvtneps_pbh(reinterpret_cast<__m512>(v)));
  }
#endif
  auto bits = reinterpret_cast<Vector<std::uint32_t, sizeof(V)>>(v);
  if constexpr (kMultipliesPairs) bits = (bits & 0x7f800000u) == 0 ? bits & 0x80000000u : bits;
  const auto is_nan = v != v;  // NOLINT(misc-redundant-expression)
  return lower_halves(round_to_bf16(bits, is_nan));
}

/// v as an element of T; bf16 is rounded as in vectors.
template <class T>
[[gnu::always_inline]] inline T narrowed(acc_t<T> v) {
  if constexpr (std::is_same_v<T, bf16> && kMultipliesPairs) {
    T rounded_one;
    rounded_one.bits = rounded(Vector<float, 16>{v})[0];
    return rounded_one;
  } else {
    return static_cast<T>(v);
  }
}

/// Stores a vector; bf16 is rounded.
template <class V, class T>
[[gnu::always_inline]] inline void store(T* p, V v) {
  if constexpr (std::is_same_v<T, bf16>) {
    store(&p->bits, rounded(v));
  } else {
    __builtin_memcpy(p, &v, sizeof v);
  }
}

// AVX-512 reads and writes a part of a vector in one instruction. Stores of pieces that overlap,
// which memcpy makes of 14 lanes, take several times as long.

/// The first `count` elements at p; the rest are zero.
template <class V, class T>
[[gnu::always_inline]] inline V load_part(const T* p, std::int64_t count) {
  if constexpr (std::is_same_v<T, bf16>) {
    const auto halves = load_part<Vector<std::uint16_t, sizeof(V) / 2>>(&p->bits, count);
    return reinterpret_cast<V>(widened(halves) << 16);
  } else {
#if defined(__AVX512BW__)
    const std::uint32_t first = (1u << count) - 1;
    if constexpr (sizeof(V) == 64 && sizeof(T) == 4)
      return reinterpret_cast<V>(_mm512_maskz_loadu_epi32(static_cast<__mmask16>(first), p));
    if constexpr (sizeof(V) == 32 && sizeof(T) == 2)
      return reinterpret_cast<V>(_mm256_maskz_loadu_epi16(static_cast<__mmask16>(first), p));
#endif
    T whole[sizeof(V) / sizeof(T)] = {};
    __builtin_memcpy(whole, p, static_cast<std::size_t>(count) * sizeof(T));
    return load<V>(whole);
  }
}
/// Stores the first `count` elements of a vector.
template <class V, class T>
[[gnu::always_inline]] inline void store_part(T* p, V v, std::int64_t count) {
  if constexpr (std::is_same_v<T, bf16>) {
    store_part(&p->bits, rounded(v), count);
  } else {
#if defined(__AVX512BW__)
    const std::uint32_t first = (1u << count) - 1;
    if constexpr (sizeof(V) == 64 && sizeof(T) == 4)
      return _mm512_mask_storeu_epi32(p, static_cast<__mmask16>(first),
                                      reinterpret_cast<__m512i>(v));
    if constexpr (sizeof(V) == 32 && sizeof(T) == 2)
      return _mm256_mask_storeu_epi16(p, static_cast<__mmask16>(first),
                                      reinterpret_cast<__m256i>(v));
#endif
    __builtin_memcpy(p, &v, static_cast<std::size_t>(count) * sizeof(T));
  }
}

// AVX-512 can broadcast a scalar operand from memory within a multiply-add. A compiler that sees
// the scalar used twice broadcasts it once in a separate instruction instead. Loading the scalar
// twice for every other row balances instructions against loads.

/// Whether the scalar of row `row` in a tile is read through both pointers.
inline constexpr bool loads_scalar_twice(int row) { return kVectorBytes == 64 && row % 2 == 0; }

/// Returns p in a way that hides its value from the compiler.
template <class T>
inline const T* opaque_alias(const T* p) {
  asm("" : "+r"(p));
  return p;
}

/// Repeatedly combines the upper half of a vector with its lower half until kLeft lanes remain: a
/// shorter vector, or an element for kLeft = 1.
template <class A, int kLeft = 1, int kBytes = kVectorBytes, class F>
inline auto fold_lanes(Vector<A, kBytes> v, F combine) {
  constexpr int kCount = kBytes / static_cast<int>(sizeof(A));
  if constexpr (kCount == kLeft) {
    return v;
  } else if constexpr (kCount == 2) {
    return combine(A(v[0]), A(v[1]));
  } else {
    Vector<A, kBytes / 2> half[2];
    __builtin_memcpy(half, &v, sizeof v);
    return fold_lanes<A, kLeft, kBytes / 2>(combine(half[0], half[1]), combine);
  }
}

/// The sum of all lanes.
template <class A>
inline A lane_total(Vector<A> v) {
  return fold_lanes<A>(v, [](auto a, auto b) { return a + b; });
}

}  // namespace fovea::ops::cpu::FOVEA_ISA
