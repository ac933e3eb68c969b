// Summation kernels of the CPU.
#pragma once

#include <cstdint>

#include "ops/cpu/by_dtype.h"

namespace fovea::ops::cpu {

/// [rows, width] with `stride` elements from row to row.
template <class T>
struct ColumnSumCall {
  const T* x = nullptr;
  std::int64_t rows = 0, width = 0, stride = 0;
  acc_t<T>* sums = nullptr;  ///< [width], overwritten
};

template <class T>
struct ReduceFunctions {
  acc_t<T> (*sum)(const T* x, std::int64_t n);
  void (*column_sums)(const ColumnSumCall<T>&);
};
using ReduceKernels = ByDType<ReduceFunctions>;

namespace v2 {
extern const ReduceKernels reduce_kernels;
}
namespace v3 {
extern const ReduceKernels reduce_kernels;
}
namespace v4 {
extern const ReduceKernels reduce_kernels;
}
template <class T>
[[nodiscard]] const ReduceFunctions<T>& reduce_kernels() {
  return select_table(v2::reduce_kernels, v3::reduce_kernels, v4::reduce_kernels).template get<T>();
}

}  // namespace fovea::ops::cpu
