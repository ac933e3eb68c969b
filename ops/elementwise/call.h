// What the elementwise kernel is given: any functor of functor_list.h over strided inputs.
#pragma once

#include "engine/dtype.h"
#include "engine/kernels.h"

namespace fovea::ops {

/// One elementwise call after broadcasting, axes merged where all strides allow. Every input is
/// converted to `compute` when it is read and the result to `out_dtype` when it is written.
struct MapCall {
  static constexpr int kMaxInputs = 4;

  int functor_id = 0;  ///< position in detail::AllFunctors
  const void* functor = nullptr;
  DType compute = DType::f32;    ///< f64, f32, or i64 when all inputs are integers
  int inputs = 0;                ///< 0 for a function of the position
  StridedAxes<kMaxInputs> axes;  ///< of the inputs; strides are 0 where they are repeated
  const void* in[kMaxInputs] = {};
  DType in_dtype[kMaxInputs] = {};
  void* out = nullptr;  ///< contiguous
  DType out_dtype = DType::f32;
};

struct ElementwiseKernels {
  Kernel<MapCall> map;
};

}  // namespace fovea::ops
