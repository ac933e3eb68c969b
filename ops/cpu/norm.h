// Normalisation kernels of the CPU. Statistics, weights and their gradients are acc_t<T>.
#pragma once

#include <cstdint>

#include "ops/cpu/by_dtype.h"

namespace fovea::ops::cpu {

/// x, y [rows, width], contiguous; weight, bias [width]; mean, rstd [rows] are results.
template <class T>
struct LayerNormCall {
  const T* x = nullptr;
  const acc_t<T>* weight = nullptr;
  const acc_t<T>* bias = nullptr;
  T* y = nullptr;
  acc_t<T>* mean = nullptr;
  acc_t<T>* rstd = nullptr;
  std::int64_t rows = 0, width = 0;
  double eps = 0;
};

/// dx is overwritten; dweight and dbias [width] are added to.
template <class T>
struct LayerNormGradCall {
  const T* x = nullptr;
  const T* dy = nullptr;
  const acc_t<T>* weight = nullptr;
  const acc_t<T>* mean = nullptr;
  const acc_t<T>* rstd = nullptr;
  T* dx = nullptr;
  acc_t<T>* dweight = nullptr;
  acc_t<T>* dbias = nullptr;
  std::int64_t rows = 0, width = 0;
};

/// One plane: `size` contiguous elements that share their statistics and their affine map.
/// y = scale (x - mean) + shift, or its positive part.
template <class T>
struct PlaneCall {
  const T* x = nullptr;
  T* y = nullptr;
  std::int64_t size = 0;
  acc_t<T> mean = 0, scale = 0, shift = 0;
  bool relu = false;
};

/// dx = scale g + slope (x - mean) + shift, where g is dy; with relu only where y was positive,
/// scale (x - mean) + y_shift > 0, else 0.
template <class T>
struct PlaneGradCall {
  const T* x = nullptr;
  const T* dy = nullptr;
  T* dx = nullptr;
  std::int64_t size = 0;
  acc_t<T> mean = 0, scale = 0, slope = 0, shift = 0, y_shift = 0;
  bool relu = false;
};

template <class A>
struct PlaneSums {
  A dy = 0;          ///< sum g
  A dy_centred = 0;  ///< sum g (x - mean)
};

template <class T>
struct NormFunctions {
  void (*layer_norm)(const LayerNormCall<T>&);
  void (*layer_norm_grad)(const LayerNormGradCall<T>&);
  void (*plane)(const PlaneCall<T>&);
  void (*plane_grad)(const PlaneGradCall<T>&);
  /// Reads neither slope nor shift.
  PlaneSums<acc_t<T>> (*plane_grad_sums)(const PlaneGradCall<T>&);
  acc_t<T> (*centred_squares)(const T* x, std::int64_t n, acc_t<T> mean);  ///< sum (x - mean)^2
};
using NormKernels = ByDType<NormFunctions>;

namespace v2 {
extern const NormKernels norm_kernels;
}
namespace v3 {
extern const NormKernels norm_kernels;
}
namespace v4 {
extern const NormKernels norm_kernels;
}
template <class T>
[[nodiscard]] const NormFunctions<T>& norm_kernels() {
  return select_table(v2::norm_kernels, v3::norm_kernels, v4::norm_kernels).template get<T>();
}

}  // namespace fovea::ops::cpu
