// Dense convolution on the CPU: forward and the gradients of image and weight.
#pragma once

#include <cstdint>

#include "engine/dtype.h"
#include "ops/cpu/conv.h"
#include "ops/cpu/isa.h"

namespace fovea::ops::cpu {

/// x [batch, channels, in], weight [outputs, channels / groups, kernel] of x's dtype, y and dy
/// [batch, outputs, out], all packed; bias [outputs] and dweight are f64 for f64 and else f32.
/// Each kernel reads and writes what its formula names.
struct DenseConvCall {
  Windows windows;
  std::int64_t batch = 0, channels = 0, outputs = 0, groups = 1;
  DType dtype = DType::f32;
  const void* x = nullptr;
  const void* weight = nullptr;
  const void* bias = nullptr;  ///< or absent
  bool relu = false;           ///< of what becomes y
  void* y = nullptr;
  const void* dy = nullptr;
  void* dx = nullptr;
  void* dweight = nullptr;
};

/// Results do not depend on the number of threads. An infinite or NaN element of x, weight or dy
/// may give NaN in gradients that it has no part in: some products are with zeros.
struct DenseConvKernels {
  void (*forward)(const DenseConvCall& call);          ///< y = weight * x + bias, or its relu
  void (*input_gradient)(const DenseConvCall& call);   ///< dx from dy and weight
  void (*weight_gradient)(const DenseConvCall& call);  ///< dweight from dy and x
};
namespace v2 {
extern const DenseConvKernels dense_conv_kernels;
}
namespace v3 {
extern const DenseConvKernels dense_conv_kernels;
}
namespace v4 {
extern const DenseConvKernels dense_conv_kernels;
}
inline const DenseConvKernels& dense_conv_kernels() {
  return select_table(v2::dense_conv_kernels, v3::dense_conv_kernels, v4::dense_conv_kernels);
}

}  // namespace fovea::ops::cpu
