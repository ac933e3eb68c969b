// Arguments of the elementwise kernel: a functor of functor_list.h over strided inputs.
#pragma once

#include "engine/dtype.h"
#include "engine/kernels.h"

namespace fovea::ops {

/// One elementwise call after broadcasting, with axes merged where all strides allow. Every input
/// is converted to `compute` on reading and the result to `out_dtype` on writing.
struct MapCall {
  static constexpr int kMaxInputs = 4;

  int functor_id = 0;  ///< position in detail::AllFunctors
  const void* functor = nullptr;
  DType compute = DType::f32;    ///< f64, f32, or i64 when all inputs are integers
  int inputs = 0;                ///< 0 for a function of the position
  StridedAxes<kMaxInputs> axes;  ///< axes of the inputs; strides are 0 where an input is repeated
  const void* in[kMaxInputs] = {};
  DType in_dtype[kMaxInputs] = {};
  void* out = nullptr;  ///< contiguous
  DType out_dtype = DType::f32;
};

struct ElementwiseKernels {
  Kernel<MapCall> map;
};

}  // namespace fovea::ops
