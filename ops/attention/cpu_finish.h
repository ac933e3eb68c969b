// How the products of attention end, while their sums are in registers: scores keep their rows'
// maxima or become probabilities, and gradients of probabilities become those of scores.
#pragma once

#include <cstdint>

#include "ops/attention/cpu_product.h"
#include "ops/attention/cpu_rows.h"

namespace fovea::ops::cpu::FOVEA_ISA::attention {

/// What is added to a tile of scores, and how much of it in whole vectors. Vectors that reach
/// beyond the last key, and biases that are not contiguous along the keys, are left to the loops
/// over rows, which begin at column `whole`.
template <class E>
struct ScoreBias {
  using A = acc_t<E>;

  ScoreBias(Rows<const A> bias, std::int64_t keys)
      : rows(bias),
        whole(bias.data == nullptr || bias.column == 1 ? keys / kLanes<A> * kLanes<A> : 0) {}

  /// Row i of the bias from column `whole` on, or null.
  const A* rest(std::int64_t i) const {
    return rows.data == nullptr ? nullptr : rows.from(i).data + whole * rows.column;
  }

  Rows<const A> rows;
  std::int64_t whole;
};

template <class V, int kVectors, class F>
[[gnu::always_inline]] inline void for_each_of(V (&vectors)[kVectors], const F& f) {
#pragma GCC unroll 4
  for (int j = 0; j < kVectors; ++j) f(vectors[j]);
}

/// Vectors of a row of scores, and what follows the product in them.
template <class E, class V, int kVectors>
struct ScoreVectors {
  using A = acc_t<E>;

  template <class F>
  [[gnu::always_inline]] void finish(const ScoreBias<E>& bias, std::int64_t row,
                                     std::int64_t column, const F& f) {
    if (bias.rows.data != nullptr) {
      const A* from = bias.rows.from(row).data + column;
#pragma GCC unroll 4
      for (int j = 0; j < kVectors; ++j) score[j] += load<V>(from + j * kLanes<A>);
    }
    f(score);
  }

  V (&score)[kVectors];
};

/// Calls f with those vectors of a row that are whole, in one call if all are. Their scores are
/// scaled if they are of pairs, whose factors take no scale, and have their bias.
template <class E, class V, int kVectors, class F>
[[gnu::always_inline]] inline void for_scores(const ScoreBias<E>& bias, acc_t<E> scale,
                                              std::int64_t row, std::int64_t column,
                                              V (&score)[kVectors], const F& f) {
  using A = acc_t<E>;
  if constexpr (kPerStep < E >> 1) {
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) score[j] = not_fused(score[j] * scale);
  }
  if constexpr (sizeof(V) == kVectorBytes) {
    if (column + kVectors * kLanes<A> <= bias.whole) [[likely]] {
      ScoreVectors<E, V, kVectors>{score}.finish(bias, row, column, f);
    } else {
#pragma GCC unroll 4
      for (int j = 0; j < kVectors; ++j) {
        const std::int64_t first = column + j * kLanes<A>;
        V one[] = {score[j]};
        if (first < bias.whole) ScoreVectors<E, V, 1>{one}.finish(bias, row, first, f);
        score[j] = one[0];
      }
    }
  }
}

/// Scores with their bias. Keeps the largest of each row, by lanes.
template <class E>
struct KeepMaximum {
  using A = acc_t<E>;

  template <class V, int kVectors>
  [[gnu::always_inline]] void operator()(std::int64_t row, std::int64_t column,
                                         V (&score)[kVectors]) const {
    for_scores<E>(bias, scale, row, column, score, [&](const auto& scores) {
      V top = most[row];
      for_each_of(scores, [&](const V& s) { top = Larger{}(top, s); });
      most[row] = top;
    });
  }

  const ScoreBias<E>& bias;
  A scale;
  Vector<A>* most;
};

/// Probabilities exp(score + bias - maximum) / sum, for results of type T.
template <class T, class E>
struct Exponentiate {
  using A = acc_t<E>;

  template <class V, int kVectors>
  [[gnu::always_inline]] void operator()(std::int64_t row, std::int64_t column,
                                         V (&score)[kVectors]) const {
    for_scores<E>(bias, scale, row, column, score, [&](auto& scores) {
      const A factor = inverse_sum[row], base = maximum[row];
      for_each_of(scores, [&](V& s) { s = factor * exp_negative<T>(s - base); });
    });
  }

  const ScoreBias<E>& bias;
  A scale;
  const A *maximum, *inverse_sum;  // of each row
};

/// dS = P (dP - delta).
template <class A>
struct ScoreGradient {
  template <class V, int kVectors>
  [[gnu::always_inline]] void operator()(std::int64_t row, std::int64_t column,
                                         V (&gradient)[kVectors]) const {
    constexpr int kWidth = static_cast<int>(sizeof(V) / sizeof(A));
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j)
      gradient[j] = load<V>(p.row(row) + column + j * kWidth) * (gradient[j] - delta[row]);
  }

  PitchedTile<A> p;
  const A* delta;  // of each row
};

}  // namespace fovea::ops::cpu::FOVEA_ISA::attention
