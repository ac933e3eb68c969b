// What the engine itself needs of a device, as a table of kernels like that of ops/kernels.h: it
// moves, converts, adds and checks data. engine/copy.cpp stands above it with shapes and checks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/device.h"
#include "engine/dtype.h"
#include "engine/kernel.h"

namespace fovea {

/// The axes of N operands of one shape, at least one and at most six (engine/strided.h merges
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
  StridedAxes<2> axes;  ///< of to, from
  DType to_dtype = DType::f32, from_dtype = DType::f32;
  void* to = nullptr;
  const void* from = nullptr;
};

/// to[...] += from[...], of float dtypes; added in the wider of the two.
struct AddCall {
  StridedAxes<2> axes;  ///< of to, from
  DType to_dtype = DType::f32, from_dtype = DType::f32;
  void* to = nullptr;
  const void* from = nullptr;
};

/// y[kept] = sum of x[kept, reduced], in f64 and in a fixed order. y is packed.
struct SumCall {
  DType dtype = DType::f32;
  StridedAxes<1> kept, reduced;  ///< of x; `reduced` may be empty (count 0)
  const void* x = nullptr;
  void* y = nullptr;
};

/// *finite = whether no x[...] is NaN or infinite, 0 if one is, in the memory of the device.
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

struct DataKernels {
  Kernel<CopyCall> copy;
  Kernel<AddCall> add;
  Kernel<SumCall> sum;
  Kernel<FiniteCall> finite;
  Kernel<FillCall> fill;
};

/// The kernels of a device, which becomes the one that this thread works on: CUDA's current device,
/// where what is called of the table runs.
[[nodiscard]] const DataKernels& data_kernels(Device device);

}  // namespace fovea
