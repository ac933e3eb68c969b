// The engine's own kernel table, like the one in ops/kernels.h: moving, converting, adding and
// checking data. engine/copy.cpp adds shapes and checks on top.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/device.h"
#include "engine/dtype.h"
#include "engine/kernel.h"

namespace fovea {

/// The axes of N operands of equal shape: at least one and at most six (engine/strided.h merges
/// them). Strides count elements.
template <std::size_t N>
struct StridedAxes {
  static constexpr int kMaxRank = 6;

  int rank = 0;
  std::int64_t count = 0;  ///< product of the sizes
  std::int64_t shape[kMaxRank] = {};
  std::int64_t strides[N][kMaxRank] = {};
};

/// to[...] = from[...], converted.
struct CopyCall {
  StridedAxes<2> axes;  ///< axes of `to` and `from`
  DType to_dtype = DType::f32, from_dtype = DType::f32;
  void* to = nullptr;
  const void* from = nullptr;
};

/// to[...] += from[...] for float dtypes; added in the wider of the two.
struct AddCall {
  StridedAxes<2> axes;  ///< axes of `to` and `from`
  DType to_dtype = DType::f32, from_dtype = DType::f32;
  void* to = nullptr;
  const void* from = nullptr;
};

/// y[kept] = sum of x[kept, reduced], in f64 and in a fixed order. y is packed.
struct SumCall {
  DType dtype = DType::f32;
  StridedAxes<1> kept, reduced;  ///< axes of x; `reduced` may be empty (count 0)
  const void* x = nullptr;
  void* y = nullptr;
};

/// *finite = 1 if no x[...] is NaN or infinite, else 0, in device memory.
struct FiniteCall {
  DType dtype = DType::f32;
  StridedAxes<1> axes;
  const void* x = nullptr;
  std::int64_t* finite = nullptr;
};

/// y[...] = value, converted.
struct FillCall {
  DType dtype = DType::f32;
  StridedAxes<1> axes;
  void* y = nullptr;
  double value = 0;
};

/// sum[j] (+)= sum over i of parts[i stride + j], in the dtype of both, f64 or f32, and in a fixed
/// order.
struct LateSumCall {
  DType dtype = DType::f32;
  std::int64_t parts = 0, columns = 0, stride = 0;
  const void* from = nullptr;
  void* sum = nullptr;
  bool adds = false;
};

struct DataKernels {
  Kernel<CopyCall> copy;
  Kernel<AddCall> add;
  Kernel<SumCall> sum;
  Kernel<FiniteCall> finite;
  Kernel<FillCall> fill;
  Kernel<std::span<const LateSumCall>> late_sums;  ///< null where many launches cost nothing
};

/// The kernels of `device`. The call also makes it this thread's current CUDA device, on which the
/// table's kernels run.
[[nodiscard]] const DataKernels& data_kernels(Device device);

}  // namespace fovea
