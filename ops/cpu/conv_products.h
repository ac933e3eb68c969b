// The innermost products of a convolution, on lines (ops/cpu/conv_lines.h): sums over taps, with
// outputs along the vectors, and sums over outputs, one for each weight. Only for files in ops/cpu/
// that are compiled once per instruction set.
#pragma once

#include "ops/cpu/lanes.h"
#include "ops/cpu/prefetch.h"
#include "ops/cpu/sizes.h"
#include "ops/cpu/vectors.h"

namespace fovea::ops::cpu::FOVEA_ISA {

// Sums fill the register file: 14 x 2 and 6 x 4 of 32 (v4), 6 x 2 and 3 x 4 of 16 (v3).
#if defined(FOVEA_ISA_v4)
inline constexpr int kPanel = 14, kDotRows = 6;
#elif defined(FOVEA_ISA_v3)
inline constexpr int kPanel = 6, kDotRows = 3;
#else
inline constexpr int kPanel = 4, kDotRows = 2;
#endif
inline constexpr int kDotTaps = 4;

template <class A>
using LineVector = typename VectorTypes<A>::Vector;
template <class A>
inline constexpr std::int64_t kLineLanes = VectorTypes<A>::kLanes;

template <class A>
inline LineVector<A> load_line(const A* p) {
  return WideLanes<A, 0>::load(p);
}

/// out[i][q] = sum over k of weights[k][i] * x[offsets[k] + q].
template <class A>
struct Correlation {
  std::int64_t depth = 0;
  const std::int64_t* offsets = nullptr;
  const A* weights = nullptr;  ///< [depth][kPanel]
  const A* x = nullptr;
  A* out = nullptr;  ///< rows `pitch` apart, with room for two vectors more
  std::int64_t pitch = 0;
};

/// kRows rows and kVectors vectors of outputs from q on, in registers. The lines of x come from the
/// second-level cache in the order of the taps, which the hardware does not foresee.
template <int kRows, int kVectors, class A>
void correlate_tile(const Correlation<A>& c, std::int64_t q) {
  constexpr std::int64_t kLanes = kLineLanes<A>, kAhead = 8;
  LineVector<A> sum[kRows][kVectors] = {};
  const A *weights = c.weights, *twin = twin_of(weights), *x = c.x + q;
  for (std::int64_t k = 0; k < c.depth; ++k, weights += kPanel, twin += kPanel) {
    const A* const later = x + c.offsets[smaller(k + kAhead, c.depth - 1)];
    prefetch<1, Access::read>(later, kVectors * kLanes);
    prefetch<1, Access::read>(later + kVectors * kLanes - 1, 1);
    LineVector<A> right[kVectors];
#pragma GCC unroll 2
    for (int j = 0; j < kVectors; ++j) right[j] = load_line(x + c.offsets[k] + j * kLanes);
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
      for (int j = 0; j < kVectors; ++j) {
        sum[i][j] += (j > 0 && reads_twice(i) ? twin[i] : weights[i]) * right[j];
      }
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
    for (int j = 0; j < kVectors; ++j) {
      WideLanes<A, 0>::store(c.out + i * c.pitch + q + j * kLanes, sum[i][j]);
    }
  }
}

template <int kRows, class A>
void correlate_rows(const Correlation<A>& c, std::int64_t length) {
  constexpr std::int64_t kLanes = kLineLanes<A>;
  std::int64_t q = 0;
  for (; q + kLanes < length; q += 2 * kLanes) correlate_tile<kRows, 2>(c, q);
  if (q < length) correlate_tile<kRows, 1>(c, q);
}

/// `rows` of at most kPanel rows, `length` outputs.
template <class A>
void correlate(const Correlation<A>& c, std::int64_t rows, std::int64_t length) {
  constexpr int kTwoThirds = (2 * kPanel + 2) / 3, kThird = (kPanel + 2) / 3;
  if (rows > kTwoThirds) return correlate_rows<kPanel>(c, length);
  if (rows > kThird) return correlate_rows<kTwoThirds>(c, length);
  correlate_rows<kThird>(c, length);
}

/// sums[i][k] += sum over images n and outputs q of dy[n][i][q] * x[n][offsets[k] + q].
template <class A>
struct LineDots {
  std::int64_t images = 0, length = 0;  ///< a last vector of outputs is read whole: dy is 0 there
  std::int64_t dy_image = 0, x_image = 0;  ///< distances from image to image
  const A* dy[kDotRows] = {};
  const A* x[kDotTaps] = {};
};

/// to[k] += all lanes of v[k].
template <class A>
inline void add_totals(const LineVector<A> (&v)[kDotTaps], A* to) {
  if constexpr (kLineLanes<A> < kDotTaps) {
    for (int k = 0; k < kDotTaps; ++k) to[k] += lane_total<A>(v[k]);
  } else {  // four at a time: pairs of lanes, then pairs of pairs
    const auto add = [](auto x, auto y) { return x + y; };
    const auto a = fold_lanes<A, kDotTaps>(v[0], add), b = fold_lanes<A, kDotTaps>(v[1], add);
    const auto c = fold_lanes<A, kDotTaps>(v[2], add), d = fold_lanes<A, kDotTaps>(v[3], add);
    const auto ab =
        __builtin_shufflevector(a, b, 0, 4, 2, 6) + __builtin_shufflevector(a, b, 1, 5, 3, 7);
    const auto cd =
        __builtin_shufflevector(c, d, 0, 4, 2, 6) + __builtin_shufflevector(c, d, 1, 5, 3, 7);
    auto total =
        __builtin_shufflevector(ab, cd, 0, 1, 4, 5) + __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
    auto old = total;
    __builtin_memcpy(&old, to, sizeof old);
    total += old;
    __builtin_memcpy(to, &total, sizeof total);
  }
}

/// Adds to kDotRows rows of kDotTaps sums, `pitch` apart.
template <class A>
void dot_tile(const LineDots<A>& d, A* sums, std::int64_t pitch) {
  LineVector<A> sum[kDotRows][kDotTaps];
#pragma GCC unroll 8
  for (int i = 0; i < kDotRows; ++i) {
#pragma GCC unroll 4
    for (int k = 0; k < kDotTaps; ++k) sum[i][k] = LineVector<A>{};
  }
  for (std::int64_t n = 0; n < d.images; ++n) {
    const std::int64_t dy_at = n * d.dy_image, x_at = n * d.x_image;
    for (std::int64_t q = 0; q < d.length; q += kLineLanes<A>) {
      LineVector<A> right[kDotTaps];
#pragma GCC unroll 4
      for (int k = 0; k < kDotTaps; ++k) right[k] = load_line(d.x[k] + x_at + q);
#pragma GCC unroll 8
      for (int i = 0; i < kDotRows; ++i) {
        const LineVector<A> left = load_line(d.dy[i] + dy_at + q);
#pragma GCC unroll 4
        for (int k = 0; k < kDotTaps; ++k) sum[i][k] += left * right[k];
      }
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < kDotRows; ++i) add_totals<A>(sum[i], sums + i * pitch);
}

}  // namespace fovea::ops::cpu::FOVEA_ISA
