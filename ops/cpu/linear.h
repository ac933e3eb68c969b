// What the derivative of a linear layer needs beside products.
#pragma once

#include <cstdint>

#include "engine/dtype.h"
#include "ops/cpu/isa.h"

namespace fovea::ops::cpu {

/// A packed [rows, cols] matrix.
struct ColumnSumsCall {
  const void* x = nullptr;
  DType dtype = DType::f32;
  std::int64_t rows = 0, cols = 0;
};

/// dz = dy * gelu'(z), the erf form; all of `dtype`, `count` elements.
struct GeluBackwardCall {
  const void* z = nullptr;
  const void* dy = nullptr;
  void* dz = nullptr;
  DType dtype = DType::f32;
  std::int64_t count = 0;
};

struct LinearKernels {
  void (*column_sums)(const ColumnSumsCall& call, void* sums);
  void (*gelu_backward)(const GeluBackwardCall& call);
};
namespace v2 {
extern const LinearKernels linear_kernels;
}
namespace v3 {
extern const LinearKernels linear_kernels;
}
namespace v4 {
extern const LinearKernels linear_kernels;
}
inline const LinearKernels& linear_kernels() {
  return select_table(v2::linear_kernels, v3::linear_kernels, v4::linear_kernels);
}

/// sums[j] = sum over rows of x[., j], in f64 for f64 and else f32; the order of addition is fixed.
inline void column_sums(const ColumnSumsCall& call, void* sums) {
  linear_kernels().column_sums(call, sums);
}
inline void gelu_backward(const GeluBackwardCall& call) { linear_kernels().gelu_backward(call); }

}  // namespace fovea::ops::cpu
