// Arguments of the pooling kernels. Tensors are packed; the gradient dx is accumulated in f64 for
// f64 and otherwise in f32 ("acc").
#pragma once

#include <cstdint>

#include "engine/dtype.h"
#include "engine/kernel.h"

namespace fovea::ops {

/// The windows along one axis of the image.
struct PoolAxis {
  std::int64_t size = 1, out = 1, kernel = 1, stride = 1, padding = 0;

  /// The input positions [first, last) of window i that lie in the image.
  [[nodiscard]] FOVEA_HD std::int64_t first(std::int64_t i) const {
    const std::int64_t begin = i * stride - padding;
    return begin > 0 ? begin : 0;
  }
  [[nodiscard]] FOVEA_HD std::int64_t last(std::int64_t i) const {
    const std::int64_t end = i * stride - padding + kernel;
    return end < size ? end : size;
  }
  /// Number of positions of window i in the padded image.
  [[nodiscard]] FOVEA_HD std::int64_t padded_count(std::int64_t i) const {
    const std::int64_t begin = i * stride - padding, end = begin + kernel;
    return (end < size + padding ? end : size + padding) - begin;
  }
};

struct PoolWindows {
  std::int64_t planes = 0;
  PoolAxis height, width;
  bool count_padding = true;  ///< whether padding counts in the divisor of averages
};

/// y [planes, out, out] from x [planes, size, size].
struct PoolCall {
  DType dtype = DType::f32;
  PoolWindows windows;
  const void* x = nullptr;
  void* y = nullptr;
  /// For max pooling only, in the shape of y: the position in x of the first maximum.
  std::int64_t* positions = nullptr;
};

/// dx [planes, size, size] of acc, from dy [planes, out, out].
struct PoolGradCall {
  DType dtype = DType::f32;  ///< dtype of dy
  PoolWindows windows;
  const void* dy = nullptr;
  const std::int64_t* positions = nullptr;
  void* dx = nullptr;
};

struct PoolKernels {
  Kernel<PoolCall> average;
  Kernel<PoolGradCall> average_grad;
  Kernel<PoolCall> maximum;  ///< NaN wins
  Kernel<PoolGradCall> maximum_grad;
};

}  // namespace fovea::ops
