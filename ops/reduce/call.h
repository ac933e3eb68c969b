// Arguments of the reduction kernels. All tensors are packed; sums and maxima are f64 for f64 and
// otherwise f32.
#pragma once

#include <cstdint>

#include "engine/dtype.h"
#include "engine/kernel.h"

namespace fovea::ops {

/// x [outer, n, inner] reduced over n in runs of `run`: results [outer, runs, inner].
struct PartialsCall {
  DType dtype = DType::f32;
  std::int64_t outer = 1, n = 1, inner = 1;
  std::int64_t run = 1, runs = 1;
  const void* x = nullptr;
  void* results = nullptr;
};

/// y = x / max(sum |x|, eps) for each row of [rows, width], summed in f64.
struct L1NormalizeCall {
  DType dtype = DType::f32;
  std::int64_t rows = 0, width = 0;
  double eps = 0;
  const void* x = nullptr;
  void* y = nullptr;
  const void* dy = nullptr;
  void* dx = nullptr;
};

/// Number of elements that one run should reduce before it is merged with other runs: fewer when
/// thousands of threads are available.
struct RunLengths {
  std::int64_t along_rows = 1;    ///< if inner is 1
  std::int64_t down_columns = 1;  ///< otherwise
};

struct ReduceKernels {
  Kernel<PartialsCall> partial_sums;
  Kernel<PartialsCall> partial_maxima;        ///< NaN if present; -infinity for an empty run
  Kernel<L1NormalizeCall> l1_normalize;       ///< y from x
  Kernel<L1NormalizeCall> l1_normalize_grad;  ///< dx from x and dy
  RunLengths runs;
};

}  // namespace fovea::ops
