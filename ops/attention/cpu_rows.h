// Operations of the attention kernels on one row of scores: add a bias, reduce, exponentiate. Rows
// are read in whole vectors; the padding of a row is filled with -inf, whose exponential is 0.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "ops/attention/cpu_tile.h"

namespace fovea::ops::cpu::FOVEA_ISA::attention {

template <class A>
inline constexpr A kMinusInfinity = -std::numeric_limits<A>::infinity();

/// Adds a bias to one row of scores (column stride 0 repeats it).
template <class A>
inline void add_bias(A* row, const A* bias, std::int64_t column, std::int64_t count) {
  if (column == 1) {
    for (std::int64_t j = 0; j < count; ++j) row[j] += bias[j];
  } else {
    for (std::int64_t j = 0; j < count; ++j) row[j] += bias[j * column];
  }
}

/// exp(x) for x <= 0 (a score minus its row's maximum), for results of type T; 0 where it would be
/// subnormal. x = (n + f) ln 2 = n ln 2 + r with |f| <= 1/2;  exp(x) = 2^n 2^f = 2^n exp(r).
template <class T>
inline Vector<float> exp_negative(Vector<float> x) {
  using V = Vector<float>;
  using Bits = Vector<std::uint32_t>;
  constexpr float kLog2E = 1.44269504f;
  constexpr float kRoundShift = 12582912.0f;  // 1.5 2^23: adding it rounds to an integer
  const V shifted = x * kLog2E + kRoundShift;
  const V n = shifted - kRoundShift;
  V p;
  if constexpr (std::is_same_v<T, bf16>) {
    // 2^f = 1 + f q(f), within 2^-13: rounding to bf16 hides it.
    const V f = x * kLog2E - n;
    V q = f * 0.05500893049f + 0.2422109595f;
    q = q * f + 0.6932829272f;
    p = q * f + 1.0f;
  } else {
    // exp(r) within 1.1e-7 by a polynomial of degree 5, y within 2.2 ulp. detail::math::exp, which
    // handles all arguments, has one of degree 6.
    V r = x - n * 0.693145752f;
    r = r - n * 1.42860682e-6f;
    V q = r * 0.0083125f + 0.04189033f;
    q = q * r + 0.16667115f;
    q = q * r + 0.4999923f;
    q = q * r + 1.0f;
    p = q * r + 1.0f;
  }
  // p is in [0.7, 1.42], so adding n to its exponent multiplies it by 2^n.
  const Bits y = reinterpret_cast<Bits>(p) + (reinterpret_cast<Bits>(shifted) << 23);
  return x < -87.0f ? V{} : reinterpret_cast<V>(y);  // NaN compares false
}

template <class T>
inline Vector<double> exp_negative(Vector<double> x) {
  for (int i = 0; i < kLanes<double>; ++i) x[i] = std::exp(x[i]);
  return x;
}

// Exponentials are chains of dependent instructions: loops over them are unrolled four times, so
// that enough chains overlap.

/// What the derivative knows of a row of scores.
template <class A>
struct RowStatistics {
  A maximum, inverse_sum, delta;
};

/// A row's probabilities p = exp(score - maximum) / sum, and the gradients ds = p (dp - delta) of
/// its scores.
template <class T, class A>
inline void differentiate_row(A* score_to_p, A* dp_to_ds, RowStatistics<A> row,
                              std::int64_t count) {
  using V = Vector<A>;
#pragma GCC unroll 4
  for (std::int64_t j = 0; j < count; j += kLanes<A>) {
    const V x = load<V>(score_to_p + j) - row.maximum;
    const V p = row.inverse_sum * exp_negative<T>(x);
    store(score_to_p + j, p);
    store(dp_to_ds + j, V(p * (load<V>(dp_to_ds + j) - row.delta)));
  }
}

/// row += bias if there is one; returns max(start, row[0], row[1], ...). NaN is ignored here: it
/// reappears in the exponentials.
template <class A>
inline A bias_and_max_row(A* row, const A* bias, std::int64_t column, std::int64_t count, A start) {
  constexpr std::int64_t kStep = 2 * kLanes<A>;
  const auto larger = [](auto a, auto b) { return b > a ? b : a; };
  if (bias != nullptr && column != 1) add_bias(row, bias, column, count);
  const bool adds = bias != nullptr && column == 1;
  Vector<A> most[2] = {Vector<A>{} + start, Vector<A>{} + start};
  std::int64_t j = 0;
  for (; j + kStep <= count; j += kStep) {
    for (int half = 0; half < 2; ++half) {
      A* const at = row + j + half * kLanes<A>;
      Vector<A> score = load<Vector<A>>(at);
      if (adds) {
        score += load<Vector<A>>(bias + j + half * kLanes<A>);
        store(at, score);
      }
      most[half] = larger(most[half], score);
    }
  }
  A last = start;
  for (; j < count; ++j) {
    if (adds) row[j] += bias[j];
    last = larger(last, row[j]);
  }
  return larger(last, fold_lanes<A>(larger(most[0], most[1]), larger));
}

/// row = exp(row - base), base >= row; `count` is padded. Returns the sum.
template <class T, class A>
inline A exp_and_sum_row(A* row, A base, std::int64_t count) {
  Vector<A> sum[kRowVectors] = {};
#pragma GCC unroll 4
  for (std::int64_t j = 0; j < count; j += kRowVectors * kLanes<A>) {
    for (std::int64_t v = 0; v < kRowVectors; ++v) {
      A* const at = row + j + v * kLanes<A>;
      const Vector<A> e = exp_negative<T>(load<Vector<A>>(at) - base);
      store(at, e);
      sum[v] += e;
    }
  }
  if constexpr (kRowVectors == 2) sum[0] += sum[1];  // as the halves of a longer vector
  return lane_total<A>(sum[0]);
}

}  // namespace fovea::ops::cpu::FOVEA_ISA::attention
