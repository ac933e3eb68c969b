// Arguments of the interpolation kernel. Tensors are packed, in f64 or otherwise f32.
#pragma once

#include <cstdint>

#include "engine/dtype.h"
#include "engine/kernel.h"

namespace fovea::ops {

/// y [outer, rows, inner] from x [outer, columns, inner] by a sparse matrix m [rows, columns]:
///   y[o, i, :] = sum_k weight[k] x[o, index[k], :] for begin[i] <= k < begin[i + 1].
struct ResizeCall {
  DType dtype = DType::f32;
  std::int64_t outer = 0, rows = 0, columns = 0, inner = 0;
  const std::int64_t* begin = nullptr;  ///< [rows + 1]
  const std::int64_t* index = nullptr;
  const double* weight = nullptr;
  const void* x = nullptr;
  void* y = nullptr;
};

struct ResizeKernels {
  Kernel<ResizeCall> apply;
};

}  // namespace fovea::ops
