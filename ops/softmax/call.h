// Arguments of the softmax kernels. Rows are packed; statistics are f32 for bf16.
#pragma once

#include <cstdint>

#include "engine/dtype.h"
#include "engine/kernel.h"

namespace fovea::ops {

/// y = softmax(x), or log-softmax, for each row of [rows, width].
struct SoftmaxCall {
  DType dtype = DType::f32;
  bool log = false;
  std::int64_t rows = 0, width = 0;
  const void* x = nullptr;
  void* y = nullptr;
};

/// dx from the output y and its gradient dy.
struct SoftmaxGradCall {
  DType dtype = DType::f32;
  bool log = false;
  std::int64_t rows = 0, width = 0;
  const void* y = nullptr;
  const void* dy = nullptr;
  void* dx = nullptr;
};

struct SoftmaxKernels {
  Kernel<SoftmaxCall> forward;
  Kernel<SoftmaxGradCall> backward;
};

}  // namespace fovea::ops
