// Argument checks that several op families share.
#pragma once

#include <initializer_list>
#include <string_view>

#include "engine/tensor.h"

namespace fovea::ops::detail {

/// Throws "op: has no CUDA form yet ..." unless every defined tensor is on the CPU.
inline void require_cpu(std::string_view op, std::initializer_list<Tensor> tensors) {
  for (const Tensor& t : tensors) {
    check(!t.defined() || t.device().is_cpu(), op, ": has no CUDA form yet, got a tensor on ",
          t.defined() ? to_string(t.device()) : "", "; move it to the CPU with to(Device{})");
  }
}

/// Throws unless x is f64, f32 or bf16.
inline void require_float(std::string_view op, const Tensor& x) {
  check(is_float(x.dtype()), op, ": got dtype ", to_string(x.dtype()),
        ", expected f64, f32 or bf16");
}

}  // namespace fovea::ops::detail
