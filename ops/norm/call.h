// Arguments of the normalisation kernels. All tensors are packed; statistics, weights, biases and
// their gradients are f64 for f64 and otherwise f32 ("acc").
#pragma once

#include <cstdint>
#include <type_traits>

#include "engine/divide.h"
#include "engine/dtype.h"
#include "engine/kernel.h"

namespace fovea::ops {

/// y = (x - mean) rstd w + b for each row of x [rows, width]; mean and rstd [rows] are outputs, or
/// inputs if they are known, which they never are where results are kept.
/// Runs of `shared` rows have the same w and b: weight and bias are [rows / shared, width].
/// RMS norm is not `centred`: its mean is 0, it has no b, and bias and mean are null.
struct LayerNormCall {
  DType dtype = DType::f32;    ///< of x
  DType y_dtype = DType::f32;  ///< that of x, or bf16 for x in f32
  bool centred = true;
  bool knows_statistics = false;
  std::int64_t rows = 0, width = 0, shared = 1;
  double eps = 0;
  const void* x = nullptr;
  const void* weight = nullptr;
  const void* bias = nullptr;
  void* y = nullptr;
  void* mean = nullptr;
  void* rstd = nullptr;
};

struct LayerNormGradCall {
  DType dtype = DType::f32;    ///< of x and dx
  DType y_dtype = DType::f32;  ///< of dy
  bool centred = true;
  std::int64_t rows = 0, width = 0, shared = 1, chunk = 1;
  const void* x = nullptr;
  const void* dy = nullptr;
  const void* weight = nullptr;
  const void* mean = nullptr;
  const void* rstd = nullptr;
  void* dx = nullptr;
  bool adds = false;     ///< to what dx holds; on CUDA only, as is the copy
  bf16* copy = nullptr;  ///< dx again, if not null
  bool sums_dx = false;  ///< also sums what dx then holds; on CUDA only
  void* sums = nullptr;  ///< [chunks(), sums_a_column(), width] of acc, zero-initialised: dweight,
                         ///< dbias and the sum of dx of each chunk, of up to `chunk` rows with the
                         ///< same weight

  [[nodiscard]] FOVEA_HD std::int64_t parameters() const { return centred ? 2 : 1; }
  [[nodiscard]] FOVEA_HD std::int64_t sums_a_column() const {
    return parameters() + (sums_dx ? 1 : 0);
  }
  /// Chunks of the rows that share a weight, and of all rows.
  [[nodiscard]] FOVEA_HD std::int64_t chunks_of_shared() const {
    return (shared + chunk - 1) / chunk;
  }
  [[nodiscard]] FOVEA_HD std::int64_t chunks() const { return rows / shared * chunks_of_shared(); }
  [[nodiscard]] FOVEA_HD std::int64_t first_row(std::int64_t index) const {
    const Division place = divide(index, chunks_of_shared());
    return place.quotient * shared + place.remainder * chunk;
  }
  [[nodiscard]] FOVEA_HD std::int64_t end_row(std::int64_t index) const {
    const std::int64_t end = first_row(index) + chunk;
    const std::int64_t last = (index / chunks_of_shared() + 1) * shared;
    return end < last ? end : last;
  }
};

/// Calls f(T(), Y()), the types of x and y.
template <class F>
void with_row_types(DType x, DType y, const F& f) {
  if (x == DType::f32 && y == DType::bf16) return f(float(), bf16());
  dispatch_float(x, [&](auto tag) { f(tag, tag); });
}

/// Calls f(integral_constant): kernels are compiled for layer norm (true) and RMS norm (false).
template <class F>
void with_centred(bool centred, const F& f) {
  centred ? f(std::true_type{}) : f(std::false_type{});
}

/// x [batch, channels, size] as batch * channels planes. Planes that share statistics form a set:
/// the planes of a channel (groups 0: batch norm), or of an image and group.
struct PlaneSets {
  std::int64_t batch = 1, channels = 1, size = 1, groups = 0;

  [[nodiscard]] FOVEA_HD std::int64_t planes() const { return batch * channels; }
  [[nodiscard]] FOVEA_HD std::int64_t set_of(std::int64_t plane) const {
    return groups == 0 ? plane % channels : plane / (channels / groups);
  }
};

/// One pass over all planes. With h = (x - mean) rstd of a plane's set, w and b of its channel,
/// and g = dy (with relu, 0 where w h + b is not positive).
struct PlanesCall {
  DType dtype = DType::f32;
  PlaneSets sets;
  bool relu = false;
  const void* x = nullptr;
  const void* dy = nullptr;
  const void* mean = nullptr;  ///< [sets] of acc, like rstd
  const void* rstd = nullptr;
  const void* weight = nullptr;  ///< [channels] of acc, like bias
  const void* bias = nullptr;
  const double* set_means = nullptr;  ///< [sets, 2]: mean(w g) and mean(w g h)
  void* out = nullptr;                ///< y or dx
  double* sums = nullptr;             ///< [planes], or [planes, 2]
};

struct NormKernels {
  Kernel<LayerNormCall> layer_norm;
  Kernel<LayerNormGradCall> layer_norm_grad;
  Kernel<PlanesCall> plane_sums;       ///< sums: sum x
  Kernel<PlanesCall> plane_squares;    ///< sums: sum (x - mean)^2
  Kernel<PlanesCall> normalise;        ///< out = w h + b, with relu its positive part
  Kernel<PlanesCall> plane_grad_sums;  ///< sums: sum g and sum g h
  Kernel<PlanesCall> plane_grad;       ///< out = rstd (w g - mean(w g) - h mean(w g h))
  /// Derivatives read results of row norms in bf16 as they were, and do not normalise again: on
  /// CUDA, where each pass takes a launch and time, and memory suffices.
  bool keeps_results = false;
};

}  // namespace fovea::ops
