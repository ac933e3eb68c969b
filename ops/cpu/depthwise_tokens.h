// One filter per channel on a grid of tokens, channels last.
#pragma once

#include <cstdint>

#include "engine/dtype.h"
#include "ops/cpu/isa.h"

namespace fovea::ops::cpu {

/// y[i, j] = bias + sum over (a, b) of weight[a, b] x[i + a - padding, j + b - padding], of vectors
/// of `channels` elements. Weight [kernel, channels], bias and their gradients are f64 for f64 and
/// else f32; null pointers are absent inputs or unwanted results.
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
struct DepthwiseTokensSums {
  DepthwiseTokensCall forward;
  const void* dy = nullptr;
  std::int64_t parts = 1;
  void* sums = nullptr;  ///< [parts, kernel + 1, channels], zeros at first; the bias's row is last
};

struct DepthwiseTokensKernels {
  void (*forward)(const DepthwiseTokensCall& call);
  void (*sums)(const DepthwiseTokensSums& call);
};
namespace v2 {
extern const DepthwiseTokensKernels depthwise_tokens_kernels;
}
namespace v3 {
extern const DepthwiseTokensKernels depthwise_tokens_kernels;
}
namespace v4 {
extern const DepthwiseTokensKernels depthwise_tokens_kernels;
}
inline const DepthwiseTokensKernels& depthwise_tokens_kernels() {
  return select_table(v2::depthwise_tokens_kernels, v3::depthwise_tokens_kernels,
                      v4::depthwise_tokens_kernels);
}

}  // namespace fovea::ops::cpu
