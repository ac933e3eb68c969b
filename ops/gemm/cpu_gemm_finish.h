// The GEMM epilogue on a computed tile of C: scaling, accumulation over blocks of k, bias, GELU
// and conversion.
#pragma once

#include "ops/common/cpu/sizes.h"
#include "ops/common/math.h"
#include "ops/common/short_gelu.h"
#include "ops/gemm/call.h"
#include "ops/gemm/cpu_gemm_micro.h"

namespace fovea::ops::cpu::FOVEA_ISA {

/// The destination of a tile of at most kMr x kNr. T is C's type.
template <class T>
struct TileTarget {
  T* c;               ///< first element of the tile
  const T* addend;    ///< same position in the addend, or null
  T* pre_activation;  ///< same position in the pre-activation, or null
  float* sum;         ///< partial sums between blocks of k; C itself when C is f32
  std::int64_t c_stride, sum_stride;
  const float* bias;  ///< bias of the tile's first column or row, or null
  std::int64_t rows, cols;
  bool first, last;  ///< whether this is the first or last block of k
};

/// Whether the tile can be stored directly from the registers.
template <class E, class T>
bool is_plain(const GemmCall& call, const TileTarget<T>& t) {
  if (t.rows != kMr<E> || (t.cols != kNr<E> && t.cols != kLanes<float>)) return false;
  if (!std::is_same_v<T, float> && !(t.first && t.last)) return false;
  return call.alpha == 1 && call.bias_kind != GemmBias::per_row &&
         !(t.last && call.activation != GemmActivation::none);
}

inline constexpr int kFinishedAtOnce = 4;  // vectors that are finished at a time

/// Partial vectors: the first `count` lanes at p. The other lanes read as zero and are not
/// written.
template <class T>
[[gnu::always_inline]] inline Vec load_lanes(const T* p, std::int64_t count) {
  return count >= kLanes<float> ? load<Vec>(p) : load_part<Vec>(p, count);
}
template <class T>
[[gnu::always_inline]] inline void store_lanes(T* p, Vec v, std::int64_t count) {
  if (count >= kLanes<float>) return store(p, v);
  store_part(p, v, count);
}

/// GELU of several v. The polynomials advance together: one alone would wait for each of its steps.
/// In bf16 it is that of the rounded v, from which derivatives compute it again.
template <class T, int kCount>
[[gnu::always_inline]] inline void apply_gelu(GemmActivation form, Vec (&v)[kCount]) {
  const bool is_erf = form == GemmActivation::gelu;
  if constexpr (std::is_same_v<T, bf16>) {
    Vec factor[kCount];
    for (Vec& x : v) x = reinterpret_cast<Vec>(widened(rounded(x)) << 16);  // as it is stored
    if (is_erf) {
      detail::math::odd_steps(detail::math::kShortNormalCdf, v, factor);
    } else {
      detail::math::odd_steps(detail::math::kShortTanhCdf, v, factor);
    }
    for (int i = 0; i < kCount; ++i) v[i] *= factor[i];
  } else {
    for (Vec& x : v) x *= is_erf ? detail::math::normal_cdf_of(x) : detail::math::tanh_cdf_of(x);
  }
}

/// Finishes kRows x kCols vectors from row i and column j on, of each the first `count` lanes.
template <int kRows, int kCols, class E, class T>
[[gnu::always_inline]] inline void finish_vectors(const GemmCall& call, const TileTarget<T>& t,
                                                  const float* tile, std::int64_t i, std::int64_t j,
                                                  std::int64_t count) {
  Vec v[kRows * kCols];
  const auto each = [&](const auto& f) {
#pragma GCC unroll 4
    for (int at = 0; at < kRows * kCols; ++at)
      f(v[at], i + at / kCols, j + at % kCols * kLanes<float>);
  };
  const auto add = [&](const auto* from, std::int64_t stride) {
    each([&](Vec& x, auto row, auto col) { x += load_lanes(from + row * stride + col, count); });
  };
  const auto put = [&](auto* to, std::int64_t stride) {
    each([&](Vec x, auto row, auto col) { store_lanes(to + row * stride + col, x, count); });
  };
  each([&](Vec& x, auto row, auto col) { x = load<Vec>(tile + row * kNr<E> + col); });
  if (call.alpha != 1) each([&](Vec& x, auto, auto) { x *= static_cast<float>(call.alpha); });
  if (!t.first) {
    add(t.sum, t.sum_stride);
  } else {
    if (call.bias_kind == GemmBias::per_column) add(t.bias, 0);
    if (call.bias_kind == GemmBias::per_row)
      each([&](Vec& x, auto row, auto) { x += t.bias[row]; });
    if (t.addend != nullptr) add(t.addend, t.c_stride);
  }
  if (!t.last) return put(t.sum, t.sum_stride);
  if (t.pre_activation != nullptr) put(t.pre_activation, t.c_stride);
  if (call.activation != GemmActivation::none) apply_gelu<T>(call.activation, v);
  put(t.c, t.c_stride);
}

/// Finishes the rows [begin, end) of a tile.
template <class E, class T>
void finish_rows(const GemmCall& call, const TileTarget<T>& t, const float* tile,
                 std::int64_t begin, std::int64_t end) {
  constexpr int kAcross = kNr<E> / kLanes<float>, kDown = kFinishedAtOnce / kAcross;
  std::int64_t i = begin;
  if (t.cols == kNr<E>) {
    for (; i + kDown <= end; i += kDown)
      finish_vectors<kDown, kAcross, E>(call, t, tile, i, 0, kLanes<float>);
  }
  for (; i < end; ++i) {
    for (std::int64_t j = 0; j < t.cols; j += kLanes<float>)
      finish_vectors<1, 1, E>(call, t, tile, i, j, smaller(kLanes<float>, t.cols - j));
  }
}

}  // namespace fovea::ops::cpu::FOVEA_ISA
