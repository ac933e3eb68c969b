// Softmax kernels of the CPU, on packed rows.
#pragma once

#include <cstdint>

#include "ops/cpu/by_dtype.h"

namespace fovea::ops::cpu {

/// [rows, width], contiguous.
template <class T>
struct SoftmaxCall {
  const T* x = nullptr;
  T* y = nullptr;
  std::int64_t rows = 0, width = 0;
  acc_t<T>* scratch = nullptr;  ///< `width` elements
};

/// y is the saved output. dx may be dy.
template <class T>
struct SoftmaxGradCall {
  const T* y = nullptr;
  const T* dy = nullptr;
  T* dx = nullptr;
  std::int64_t rows = 0, width = 0;
  acc_t<T>* scratch = nullptr;  ///< `width` elements
};

template <class T>
struct SoftmaxFunctions {
  void (*softmax)(const SoftmaxCall<T>&);
  void (*log_softmax)(const SoftmaxCall<T>&);
  void (*softmax_grad)(const SoftmaxGradCall<T>&);
  void (*log_softmax_grad)(const SoftmaxGradCall<T>&);
};
using SoftmaxKernels = ByDType<SoftmaxFunctions>;

namespace v2 {
extern const SoftmaxKernels softmax_kernels;
}
namespace v3 {
extern const SoftmaxKernels softmax_kernels;
}
namespace v4 {
extern const SoftmaxKernels softmax_kernels;
}
template <class T>
[[nodiscard]] const SoftmaxFunctions<T>& softmax_kernels() {
  return select_table(v2::softmax_kernels, v3::softmax_kernels, v4::softmax_kernels)
      .template get<T>();
}

}  // namespace fovea::ops::cpu
