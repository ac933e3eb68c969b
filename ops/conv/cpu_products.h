// Microkernels of the convolution on lines (ops/conv/cpu_lines.h): sums over taps, vectorised over
// outputs, and sums over outputs, vectorised over their channels.
#pragma once

#include "ops/common/cpu/lanes.h"
#include "ops/common/cpu/prefetch.h"
#include "ops/common/cpu/sizes.h"
#include "ops/common/cpu/vectors.h"
#include "ops/common/run_sum.h"

namespace fovea::ops::cpu::FOVEA_ISA {

// The sums fill the register file: 14 x 2 of 32 (v4), 6 x 2 of 16 (v3). Each tap of a weight
// gradient needs an address register, and 12 are available.
#if defined(FOVEA_ISA_v4)
inline constexpr int kPanel = 14, kTaps = 12;
#elif defined(FOVEA_ISA_v3)
inline constexpr int kPanel = 6, kTaps = 6;
#else
inline constexpr int kPanel = 4, kTaps = 4;
#endif

/// out[i][q] = sum over k of weights[k][i] * x[offsets[k] + q].
template <class A>
struct Correlation {
  std::int64_t depth = 0;
  const std::int64_t* offsets = nullptr;
  const A* weights = nullptr;  ///< [depth][kPanel]
  const A* x = nullptr;
  A* out = nullptr;  ///< rows `pitch` apart, with room for two extra vectors
  std::int64_t pitch = 0;
  bool adds = false;  ///< to what `out` has
};

/// A tile of kRows rows and kVectors vectors of outputs from q on, in registers. The lines of x
/// come from the L2 cache in tap order, which the hardware prefetcher does not recognise.
template <int kRows, int kVectors, class A>
void correlate_tile(const Correlation<A>& c, std::int64_t q) {
  constexpr std::int64_t kWidth = kLanes<A>, kAhead = 8;
  Vector<A> sum[kRows][kVectors] = {};
  const A *weights = c.weights, *twin = opaque_alias(weights), *x = c.x + q;
  for (std::int64_t k = 0; k < c.depth; ++k, weights += kPanel, twin += kPanel) {
    const A* const later = x + c.offsets[smaller(k + kAhead, c.depth - 1)];
    prefetch<1, PrefetchKind::read>(later, kVectors * kWidth);
    prefetch<1, PrefetchKind::read>(later + kVectors * kWidth - 1, 1);
    Vector<A> right[kVectors];
#pragma GCC unroll 2
    for (int j = 0; j < kVectors; ++j) right[j] = load<Vector<A>>(x + c.offsets[k] + j * kWidth);
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
      for (int j = 0; j < kVectors; ++j) {
        sum[i][j] += (j > 0 && loads_scalar_twice(i) ? twin[i] : weights[i]) * right[j];
      }
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
    for (int j = 0; j < kVectors; ++j) {
      A* const to = c.out + i * c.pitch + q + j * kWidth;
      store(to, c.adds ? load<Vector<A>>(to) + sum[i][j] : sum[i][j]);
    }
  }
}

template <int kRows, class A>
void correlate_rows(const Correlation<A>& c, std::int64_t length) {
  constexpr std::int64_t kWidth = kLanes<A>;
  std::int64_t q = 0;
  for (; q + kWidth < length; q += 2 * kWidth) correlate_tile<kRows, 2>(c, q);
  if (q < length) correlate_tile<kRows, 1>(c, q);
}

/// As many rows as there are, and one more where their number is odd.
template <int kRows, class A>
void correlate_run(const Correlation<A>& c, std::int64_t rows, std::int64_t length) {
  if constexpr (kRows > 2) {
    if (rows <= kRows - 2) return correlate_run<kRows - 2>(c, rows, length);
  }
  correlate_rows<kRows>(c, length);
}

/// Processes up to kPanel `rows` and `length` outputs, the depth in runs (ops/common/run_sum.h).
template <class A>
void correlate(const Correlation<A>& c, std::int64_t rows, std::int64_t length) {
  std::int64_t k = 0;
  do {
    Correlation<A> run = c;
    run.depth = smaller(detail::kRunTerms, c.depth - k);
    run.offsets += k;
    run.weights += k * kPanel;
    run.adds = k > 0;
    correlate_run<kPanel>(run, rows, length);
    k += detail::kRunTerms;
  } while (k < c.depth);
}

/// Number of dy channels in a weight gradient tile.
template <class A>
inline constexpr std::int64_t kStrip = 2 * kLanes<A>;

/// sums[k][c] += sum over images n and outputs q of x[k][n][q] * dy[n][q][c], for kTaps taps.
template <class A>
struct TapSums {
  std::int64_t images = 0, length = 0;
  std::int64_t x_image = 0, dy_image = 0;  ///< distance from image to image
  const A* x[kTaps] = {};                  ///< lines
  const A* dy = nullptr;                   ///< outputs kStrip apart
  A* sums = nullptr;                       ///< rows `pitch` apart
  std::int64_t pitch = 0;

  /// The outputs from `q` on, at most a run of them (ops/common/run_sum.h).
  [[nodiscard]] TapSums run_from(std::int64_t q) const {
    TapSums run = *this;
    run.length = smaller(detail::kRunTerms, length - q);
    for (int i = 0; i < kTaps; ++i) run.x[i] += q;
    run.dy += q * kStrip<A>;
    return run;
  }
};

/// kVectors vectors of channels for each tap, in registers.
template <int kVectors, class A>
void tap_tile(const TapSums<A>& t) {
  constexpr std::int64_t kWidth = kLanes<A>;
  Vector<A> sum[kTaps][kVectors] = {};
  for (std::int64_t n = 0; n < t.images; ++n) {
    const A* x[kTaps];
#pragma GCC unroll 16
    for (int i = 0; i < kTaps; ++i) x[i] = t.x[i] + n * t.x_image;
    const A* dy = t.dy + n * t.dy_image;
    for (std::int64_t q = 0; q < t.length; ++q, dy += kStrip<A>) {
      Vector<A> right[kVectors];
#pragma GCC unroll 2
      for (int j = 0; j < kVectors; ++j) right[j] = load<Vector<A>>(dy + j * kWidth);
#pragma GCC unroll 16
      for (int i = 0; i < kTaps; ++i) {
#pragma GCC unroll 2
        for (int j = 0; j < kVectors; ++j) sum[i][j] += x[i][q] * right[j];
      }
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < kTaps; ++i) {
#pragma GCC unroll 2
    for (int j = 0; j < kVectors; ++j) {
      A* const to = t.sums + i * t.pitch + j * kWidth;
      store(to, load<Vector<A>>(to) + sum[i][j]);
    }
  }
}

}  // namespace fovea::ops::cpu::FOVEA_ISA
