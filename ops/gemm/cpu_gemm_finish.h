// The GEMM epilogue on a computed tile of C: scaling, accumulation over blocks of k, bias, GELU
// and conversion.
#pragma once

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

/// What GELU multiplies v by, exact enough for results in T.
template <class T>
[[gnu::always_inline]] inline Vec gelu_factor(GemmActivation form, Vec v) {
  const bool is_erf = form == GemmActivation::gelu;
  if constexpr (std::is_same_v<T, bf16>) {
    return is_erf ? detail::math::short_normal_cdf(v) : detail::math::short_tanh_cdf(v);
  } else {
    return is_erf ? detail::math::normal_cdf_of(v) : detail::math::tanh_cdf_of(v);
  }
}

/// v as it is stored in T. Derivatives read GELU's input from memory, and compute GELU again from
/// it.
template <class T>
[[gnu::always_inline]] inline Vec as_stored(Vec v) {
  if constexpr (std::is_same_v<T, bf16>) {
    const auto bits = __builtin_convertvector(rounded(v), Vector<std::uint32_t>);
    return reinterpret_cast<Vec>(bits << 16);
  } else {
    return v;
  }
}

/// Finishes one vector: `count` columns starting at column j of row i.
template <class T>
[[gnu::always_inline]] inline void finish_lanes(const GemmCall& call, const TileTarget<T>& t,
                                                std::int64_t i, std::int64_t j, Vec v,
                                                std::int64_t count) {
  T* const c = t.c + i * t.c_stride + j;
  if (call.alpha != 1) v *= static_cast<float>(call.alpha);
  if (!t.first) {
    v += load_lanes(t.sum + i * t.sum_stride + j, count);
  } else {
    if (call.bias_kind == GemmBias::per_column) v += load_lanes(t.bias + j, count);
    if (call.bias_kind == GemmBias::per_row) v += t.bias[i];
    if (t.addend != nullptr) v += load_lanes(t.addend + i * t.c_stride + j, count);
  }
  if (!t.last) return store_lanes(t.sum + i * t.sum_stride + j, v, count);
  if (t.pre_activation != nullptr) {
    store_lanes(t.pre_activation + i * t.c_stride + j, v, count);
  }
  if (call.activation != GemmActivation::none) {
    v = as_stored<T>(v);
    v *= gelu_factor<T>(call.activation, v);
  }
  store_lanes(c, v, count);
}

/// Finishes the rows [begin, end) of a tile.
template <class E, class T>
void finish_rows(const GemmCall& call, const TileTarget<T>& t, const float* tile,
                 std::int64_t begin, std::int64_t end) {
  tile += begin * kNr<E>;
  for (std::int64_t i = begin; i < end; ++i, tile += kNr<E>) {
    if (t.cols == kNr<E>) {
      for (int j = 0; j < kNr<E>; j += kLanes<float>)
        finish_lanes(call, t, i, j, load<Vec>(tile + j), kLanes<float>);
    } else {
      for (std::int64_t j = 0; j < t.cols; j += kLanes<float>) {
        finish_lanes(call, t, i, j, load<Vec>(tile + j), t.cols - j);
      }
    }
  }
}

}  // namespace fovea::ops::cpu::FOVEA_ISA
