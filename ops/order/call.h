// What the kernels of order statistics are given. Rows are packed.
#pragma once

#include <cstdint>

#include "engine/dtype.h"
#include "engine/kernel.h"

namespace fovea::ops {

/// NaN counts as the largest value; in rising_nan_first it stands first all the same.
enum class Order : std::uint8_t { falling, rising, rising_nan_first };

/// positions [rows, count]: where the first `count` of each row of x [rows, width] stand, in order.
/// Equal values keep their order.
struct FirstPositionsCall {
  DType dtype = DType::f32;
  Order order = Order::falling;
  std::int64_t rows = 0, width = 0, count = 0;  ///< count at most width
  const void* x = nullptr;
  std::int64_t* positions = nullptr;
};

/// values [rows, count] beside x [rows, width]: positions say which elements those are. None occurs
/// twice in a row.
struct ValuesAtCall {
  DType dtype = DType::f32;
  std::int64_t rows = 0, width = 0, count = 0;
  const std::int64_t* positions = nullptr;
  void* x = nullptr;
  void* values = nullptr;
};

struct OrderKernels {
  Kernel<FirstPositionsCall> first_positions;
  Kernel<ValuesAtCall> values_at;  ///< values from x
  Kernel<ValuesAtCall> scatter;    ///< x, given as zeros, from values
};

}  // namespace fovea::ops
