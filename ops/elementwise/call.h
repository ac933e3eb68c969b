// What the elementwise kernel is given: any functor of functor_list.h over strided inputs.
#pragma once

#include <cstdint>

#include "engine/dtype.h"
#include "engine/kernel.h"

namespace fovea::ops {

/// One elementwise call after broadcasting, axes merged where all strides allow. Every input is
/// converted to `compute` when it is read and the result to `out_dtype` when it is written.
struct MapCall {
  static constexpr const char* kOp = "elementwise";
  static constexpr int kMaxInputs = 4, kMaxRank = 6;

  int functor_id = 0;  ///< position in detail::AllFunctors
  const void* functor = nullptr;
  DType compute = DType::f32;  ///< f64, f32, or i64 when all inputs are integers
  int inputs = 0, rank = 0;    ///< inputs: 0 for a function of the position; rank: at least 1
  std::int64_t count = 0;      ///< elements of the output
  std::int64_t shape[kMaxRank] = {};
  std::int64_t strides[kMaxInputs][kMaxRank] = {};  ///< of the inputs, 0 where repeated
  const void* in[kMaxInputs] = {};
  DType in_dtype[kMaxInputs] = {};
  void* out = nullptr;  ///< contiguous
  DType out_dtype = DType::f32;
};

struct ElementwiseKernels {
  Kernel<MapCall> map;
};

}  // namespace fovea::ops
