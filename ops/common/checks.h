// Argument checks shared by several op families.
#pragma once

#include <initializer_list>
#include <string_view>

#include "engine/tensor.h"

namespace fovea::ops::detail {

/// Throws unless all defined tensors are on one device.
inline void require_one_device(std::string_view op, std::initializer_list<Tensor> tensors) {
  const Tensor* first = nullptr;
  for (const Tensor& t : tensors) {
    if (!t.defined()) continue;
    if (first == nullptr) first = &t;
    check(t.device() == first->device(), op, ": got tensors on ", first->device(), " and ",
          t.device(), ", expected one device");
  }
}

/// Throws unless x is f64, f32 or bf16.
inline void require_float(std::string_view op, const Tensor& x) {
  check(is_float(x.dtype()), op, ": got dtype ", to_string(x.dtype()),
        ", expected f64, f32 or bf16");
}

}  // namespace fovea::ops::detail
