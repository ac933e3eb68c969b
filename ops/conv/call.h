// What the kernels of convolution are given. All tensors are packed. Weights' gradients, biases and
// their gradients are f64 for f64 and else f32; null pointers are absent inputs or unwanted
// results.
#pragma once

#include <cstdint>

#include "engine/dtype.h"
#include "engine/kernel.h"

namespace fovea::ops {

/// How windows lie on an image; pairs are (height, width).
struct Windows {
  std::int64_t in[2], out[2];
  std::int64_t kernel[2], stride[2], padding[2], dilation[2];
};

/// x [batch, channels, in], weight [outputs, channels / groups, kernel] of x's dtype, y and dy
/// [batch, outputs, out]. Each kernel reads and writes what its formula names.
struct DenseConvCall {
  Windows windows;
  std::int64_t batch = 0, channels = 0, outputs = 0, groups = 1;
  DType dtype = DType::f32;
  const void* x = nullptr;
  const void* weight = nullptr;
  const void* bias = nullptr;
  bool relu = false;  ///< of what becomes y
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

/// One filter per channel: weight [channels, kernel], in the sums' dtype as its gradient.
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

/// The same on tokens in a grid, channels last:
/// y[i, j] = bias + sum over (a, b) of weight[a, b] x[i + a - padding, j + b - padding], of vectors
/// of `channels` elements; weight [kernel, channels].
struct DepthwiseTokensCall {
  DType dtype = DType::f32;
  std::int64_t batch = 0, channels = 0, prefix = 0;
  std::int64_t in[2], out[2], kernel[2], padding[2];
  const void* weight = nullptr;
  const void* bias = nullptr;
  const void* x = nullptr;  ///< [batch, prefix + in, channels]
  void* y = nullptr;        ///< [batch, prefix + out, channels]
};

/// dweight [kernel, channels] = sum of dy[i, j] x[i + a - padding, j + b - padding], and dbias, the
/// sum of dy: for each of `parts` runs of images, one after another.
struct DepthwiseTokensSumsCall {
  DepthwiseTokensCall forward;
  const void* dy = nullptr;
  std::int64_t parts = 1;
  void* sums = nullptr;  ///< [parts, kernel + 1, channels], zeros at first; the bias's row is last
};

/// Results do not depend on the number of threads. An infinite or NaN element of x, weight or dy
/// may give NaN in gradients that it has no part in: some products are with zeros.
struct ConvKernels {
  Kernel<DenseConvCall> forward;          ///< y = weight * x + bias, or its relu
  Kernel<DenseConvCall> input_gradient;   ///< dx from dy and weight
  Kernel<DenseConvCall> weight_gradient;  ///< dweight from dy and x
  Kernel<ChannelSumsCall> channel_sums;   ///< dbias
  Kernel<DepthwiseCall> depthwise_forward;
  Kernel<DepthwiseCall> depthwise_backward;  ///< whichever of the three gradients are wanted
  Kernel<DepthwiseTokensCall> tokens_forward;
  Kernel<DepthwiseTokensSumsCall> tokens_sums;
};

}  // namespace fovea::ops
