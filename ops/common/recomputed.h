// Outputs that are cheaper to compute again than to keep.
#pragma once

#include <initializer_list>
#include <utility>

#include "engine/autograd.h"

namespace fovea::ops::detail {

/// recomputed_for_backward() in bf16, which is chosen to save memory and where GELU is a short
/// polynomial. In f32 the output is kept.
inline Tensor recomputed_in_bf16(const Tensor& output, std::initializer_list<Tensor> from,
                                 RecomputeFn compute) {
  if (output.dtype() != DType::bf16) return output;
  return recomputed_for_backward(output, from, std::move(compute));
}

}  // namespace fovea::ops::detail
