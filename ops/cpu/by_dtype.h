// Tables of kernels that exist once per float dtype.
#pragma once

#include <type_traits>

#include "engine/dtype.h"
#include "ops/cpu/isa.h"

namespace fovea::ops::cpu {

/// Functions<T> is a struct of pointers to functions on elements of T.
template <template <class> class Functions>
struct ByDType {
  Functions<double> for_f64;
  Functions<float> for_f32;
  Functions<bf16> for_bf16;

  template <class T>
  [[nodiscard]] const Functions<T>& get() const {
    if constexpr (std::is_same_v<T, double>) {
      return for_f64;
    } else if constexpr (std::is_same_v<T, float>) {
      return for_f32;
    } else {
      return for_bf16;
    }
  }
};

}  // namespace fovea::ops::cpu
