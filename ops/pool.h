// 2-D pooling over NCHW. Sizes are (height, width).
#pragma once

#include <array>

#include "engine/tensor.h"

namespace fovea::ops {

struct Pool2dOptions {
  std::array<std::int64_t, 2> kernel{2, 2};
  std::array<std::int64_t, 2> stride{2, 2};
  std::array<std::int64_t, 2> padding{0, 0};  ///< at most half the kernel
  bool count_include_pad = true;  ///< for average pooling: the mean includes padded zeros
};
[[nodiscard]] Tensor avg_pool2d(const Tensor& x, const Pool2dOptions& options);  ///< window's mean
/// Padding never wins; the gradient goes to the first maximum in row-major order.
[[nodiscard]] Tensor max_pool2d(const Tensor& x, const Pool2dOptions& options);

}  // namespace fovea::ops
