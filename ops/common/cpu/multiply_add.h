// What products multiply and add: f64, f32, or pairs of bf16, two neighbours along the depth of a
// product in one 32-bit word, which some instruction sets multiply without converting them to f32.
#pragma once

#include <cstdint>
#include <type_traits>

#include "ops/common/cpu/sizes.h"
#include "ops/common/cpu/vectors.h"

#if defined(FOVEA_ISA_v4bf16)
#include <immintrin.h>
#elif defined(FOVEA_ISA_v4bf16_twin)
#include "ops/common/cpu/flush_subnormals.h"
#endif

namespace fovea::ops::cpu::FOVEA_ISA {

/// Elements k (in the low half) and k + 1 of the depth.
struct Bf16Pair {
  std::uint32_t bits = 0;
};
[[gnu::always_inline]] inline Bf16Pair pair(bf16 low, bf16 high) {
  return {low.bits | std::uint32_t{high.bits} << 16};
}

}  // namespace fovea::ops::cpu::FOVEA_ISA
namespace fovea {
template <>
struct accumulate_type<ops::cpu::FOVEA_ISA::Bf16Pair> {
  using type = float;
};
}  // namespace fovea
namespace fovea::ops::cpu::FOVEA_ISA {

// E is double, float or Bf16Pair.

/// Number of elements along the depth in one E.
template <class E>
inline constexpr std::int64_t kPerStep = std::is_same_v<E, Bf16Pair> ? 2 : 1;
/// Whether products of E are made in tiles (ops/common/cpu/tiles.h), otherwise one E after another.
template <class E>
inline constexpr bool kInTiles = kMultipliesTiles&& std::is_same_v<E, Bf16Pair>;
/// Depths are padded with zero to a multiple of this number of E.
template <class E>
inline constexpr std::int64_t kStepsAtOnce = kInTiles<E> ? 16 : 1;
/// Number of E that hold `count` elements along the depth.
template <class E>
constexpr std::int64_t steps(std::int64_t count) {
  return ceil_div(count, kPerStep<E> * kStepsAtOnce<E>) * kStepsAtOnce<E>;
}
/// The E at p, which may be memory of bf16.
template <class E>
[[gnu::always_inline]] inline E load_step(const E* p) {
  E e;
  __builtin_memcpy(&e, p, sizeof e);
  return e;
}
/// A vector of E.
template <class E, int kBytes = kVectorBytes>
using Words = Vector<std::conditional_t<std::is_same_v<E, Bf16Pair>, std::uint32_t, E>, kBytes>;

template <int kBytes = kVectorBytes, class E>
[[gnu::always_inline]] inline Words<E, kBytes> load_words(const E* p) {
  Words<E, kBytes> words;
  __builtin_memcpy(&words, p, sizeof words);
  return words;
}
template <class E>
[[gnu::always_inline]] inline void store_words(E* p, Words<E> words) {
  __builtin_memcpy(static_cast<void*>(p), &words, sizeof words);
}

/// Pairs of the bits of two vectors of bf16.
template <class Halves>
[[gnu::always_inline]] inline auto pairs(Halves low, Halves high) {
  return widened(low) | widened(high) << 16;
}

/// sum + a b in every lane; a is a vector or the same in all lanes.
template <class V, class A>
[[gnu::always_inline]] inline V add_product(V sum, A a, V b) {
  return sum + a * b;
}

/// Lives around sums of products of E on the same thread.
struct PlainArithmetic {};

// Where pairs are multiplied, and not in tiles, add_product(sum, a, b) with pairs is sum + a[1]
// b[1] + a[0] b[0] in every lane, rounded to nearest even after each sum; subnormal numbers are
// read and written as zero.
#if defined(FOVEA_ISA_v4bf16)
template <class E>
using Arithmetic = PlainArithmetic;

[[gnu::always_inline]] inline Vector<float> add_product(Vector<float> sum, Words<Bf16Pair> a,
                                                        Words<Bf16Pair> b) {
  return reinterpret_cast<Vector<float>>(_mm512_dpbf16_ps(
      reinterpret_cast<__m512>(sum), reinterpret_cast<__m512bh>(a), reinterpret_cast<__m512bh>(b)));
}
#elif defined(FOVEA_ISA_v4bf16_twin)
template <class E>
using Arithmetic =
    std::conditional_t<std::is_same_v<E, Bf16Pair>, FlushSubnormals, PlainArithmetic>;

[[gnu::always_inline]] inline Vector<float> add_product(Vector<float> sum, Words<Bf16Pair> a,
                                                        Words<Bf16Pair> b) {
  using Floats = Vector<float>;
  sum += reinterpret_cast<Floats>(a & 0xffff0000u) * reinterpret_cast<Floats>(b & 0xffff0000u);
  return sum + reinterpret_cast<Floats>(a << 16) * reinterpret_cast<Floats>(b << 16);
}
#else
template <class E>
using Arithmetic = PlainArithmetic;
#endif

#if defined(FOVEA_ISA_v4bf16) || defined(FOVEA_ISA_v4bf16_twin)
[[gnu::always_inline]] inline Vector<float> add_product(Vector<float> sum, Bf16Pair a,
                                                        Words<Bf16Pair> b) {
  return add_product(sum, Words<Bf16Pair>{} + a.bits, b);
}
#endif

/// What operands of T are multiplied as.
template <class T>
using FactorOf =
    std::conditional_t<std::is_same_v<T, bf16> && kMultipliesPairs, Bf16Pair, acc_t<T>>;

}  // namespace fovea::ops::cpu::FOVEA_ISA
