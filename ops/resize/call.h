// Arguments of the interpolation kernels. Tensors are packed.
#pragma once

#include <cstdint>

#include "engine/dtype.h"
#include "engine/kernel.h"

namespace fovea::ops {

/// y [outer, rows, inner] from x [outer, columns, inner] by a sparse matrix m [rows, columns]:
/// in f64 or otherwise f32,
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

/// small [planes, height, width] and large [planes, factor height, factor width], both of `dtype`.
struct UpsampleCall {
  DType dtype = DType::f32;
  std::int64_t planes = 0, height = 0, width = 0, factor = 1;
  const void* from = nullptr;
  void* to = nullptr;
};

struct ResizeKernels {
  Kernel<ResizeCall> apply;
  Kernel<UpsampleCall> repeat;       ///< each pixel of `small` fills a square of `large`
  Kernel<UpsampleCall> square_sums;  ///< each pixel of `small` is the sum of a square of `large`
};

}  // namespace fovea::ops
