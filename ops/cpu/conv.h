// Loops of convolution and pooling that are not products.
#pragma once

#include <cstdint>

#include "engine/dtype.h"
#include "ops/cpu/isa.h"

namespace fovea::ops::cpu {

/// How windows lie on an image; pairs are (height, width).
struct Windows {
  std::int64_t in[2], out[2];
  std::int64_t kernel[2], stride[2], padding[2], dilation[2];
};

/// One filter per channel. Weights [channels, ky, kx], bias and their gradients are f64 for f64 and
/// else f32; null pointers are absent inputs or unwanted results.
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

/// Images [batch, channels, grid * patch] and their patches as rows
/// [batch, grid_y, grid_x, channels, patch_y, patch_x].
struct PatchesCall {
  std::int64_t batch = 0, channels = 0;
  std::int64_t grid[2], patch[2];
  DType dtype = DType::f32;
  void* images = nullptr;
  void* rows = nullptr;
};

struct ConvKernels {
  void (*depthwise_forward)(const DepthwiseCall& call);
  void (*depthwise_backward)(const DepthwiseCall& call);
  void (*images_to_rows)(const PatchesCall& call);
  void (*rows_to_images)(const PatchesCall& call);
  /// sums[c] = sum over batch and positions of x [batch, channels, positions]; f64 or f32 sums.
  void (*channel_sums)(const void* x, DType dtype, const std::int64_t (&shape)[3], void* sums);
};
namespace v2 {
extern const ConvKernels conv_kernels;
}
namespace v3 {
extern const ConvKernels conv_kernels;
}
namespace v4 {
extern const ConvKernels conv_kernels;
}
inline const ConvKernels& conv_kernels() {
  return select_table(v2::conv_kernels, v3::conv_kernels, v4::conv_kernels);
}

}  // namespace fovea::ops::cpu
