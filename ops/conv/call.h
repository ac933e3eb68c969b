// Arguments of the convolution kernels. All tensors are packed. Biases and the gradients of
// weights and biases are f64 for f64 and otherwise f32; null pointers are absent inputs or
// unwanted results.
#pragma once

#include <cstdint>

#include "engine/dtype.h"
#include "engine/kernel.h"

namespace fovea::ops {

/// The geometry of windows on an image; pairs are (height, width).
struct Windows {
  std::int64_t in[2], out[2];
  std::int64_t kernel[2], stride[2], padding[2], dilation[2];
  std::int64_t more_padding[2];  ///< zeros at the end of an axis beyond `padding`

  /// Size of the padded image along an axis.
  [[nodiscard]] FOVEA_HD std::int64_t padded(int axis) const {
    return in[axis] + 2 * padding[axis] + more_padding[axis];
  }
};

/// x [batch, channels, in], weight [outputs, channels / groups, kernel] of x's dtype, y and dy
/// [batch, outputs, out]. Each kernel accesses only the tensors in its formula.
struct DenseConvCall {
  Windows windows;
  std::int64_t batch = 0, channels = 0, outputs = 0, groups = 1;
  DType dtype = DType::f32;
  const void* x = nullptr;
  const void* weight = nullptr;
  const void* bias = nullptr;
  bool relu = false;  ///< apply relu to y
  void* y = nullptr;
  const void* dy = nullptr;
  void* dx = nullptr;
  void* dweight = nullptr;
};

/// sums[c] = sum over batch and positions of x [batch, channels, positions].
struct ChannelSumsCall {
  DType dtype = DType::f32;
  std::int64_t batch = 0, channels = 0, positions = 0;
  const void* x = nullptr;
  void* sums = nullptr;
};

/// One filter per channel: weight and its gradient [channels, kernel], both in the dtype of the
/// sums.
struct DepthwiseCall {
  Windows windows;
  std::int64_t batch = 0, channels = 0;
  DType dtype = DType::f32;
  const void* x = nullptr;
  const void* weight = nullptr;
  const void* bias = nullptr;
  void* y = nullptr;
  const void* dy = nullptr;
  void* dx = nullptr;
  void* dweight = nullptr;
  void* dbias = nullptr;
};

/// Depthwise convolution on tokens in a grid, channels last:
///   y[i, j] = bias + sum over (a, b) of weight[a, b] x[i + a - padding, j + b - padding],
/// where each term is a vector of `channels` elements; weight [kernel, channels].
struct DepthwiseTokensCall {
  DType dtype = DType::f32;
  std::int64_t batch = 0, channels = 0, prefix = 0;
  std::int64_t in[2], out[2], kernel[2], padding[2];
  const void* weight = nullptr;
  const void* bias = nullptr;
  const void* x = nullptr;  ///< [batch, prefix + in, channels]
  void* y = nullptr;        ///< [batch, prefix + out, channels]
};

/// dweight [kernel, channels] = sum of dy[i, j] x[i + a - padding, j + b - padding], and dbias =
/// sum of dy, separately for each of `parts` consecutive runs of images.
struct DepthwiseTokensSumsCall {
  DepthwiseTokensCall forward;
  const void* dy = nullptr;
  std::int64_t parts = 1;
  /// [parts, kernel + 1, channels], zero-initialised; the last row is the bias gradient.
  void* sums = nullptr;
};

/// Results do not depend on the number of threads. An infinite or NaN element of x, weight or dy
/// may also produce NaN in gradients that it does not contribute to: some products multiply it by
/// zero.
struct ConvKernels {
  Kernel<DenseConvCall> forward;          ///< y = weight * x + bias, or its relu
  Kernel<DenseConvCall> input_gradient;   ///< dx from dy and weight
  Kernel<DenseConvCall> weight_gradient;  ///< dweight from dy and x
  Kernel<ChannelSumsCall> channel_sums;   ///< dbias
  Kernel<DepthwiseCall> depthwise_forward;
  Kernel<DepthwiseCall> depthwise_backward;  ///< the requested ones of the three gradients
  Kernel<DepthwiseTokensCall> tokens_forward;
  Kernel<DepthwiseTokensSumsCall> tokens_sums;
};

}  // namespace fovea::ops
