// Arguments of the order statistics kernels. Rows are packed.
#pragma once

#include <cstdint>

#include "engine/dtype.h"
#include "engine/kernel.h"

namespace fovea::ops {

/// NaN counts as the largest value, except that rising_nan_first puts it first.
enum class Order : std::uint8_t { falling, rising, rising_nan_first };

/// positions [rows, count]: the positions of the first `count` elements in the order, for each row
/// of x [rows, width]. The order is stable.
struct FirstPositionsCall {
  DType dtype = DType::f32;
  Order order = Order::falling;
  std::int64_t rows = 0, width = 0, count = 0;  ///< count <= width
  const void* x = nullptr;
  std::int64_t* positions = nullptr;
};

/// values [rows, count] at `positions` of x [rows, width]. No position occurs twice in a row.
struct ValuesAtCall {
  DType dtype = DType::f32;
  std::int64_t rows = 0, width = 0, count = 0;
  const std::int64_t* positions = nullptr;
  void* x = nullptr;
  void* values = nullptr;
};

struct OrderKernels {
  Kernel<FirstPositionsCall> first_positions;
  Kernel<ValuesAtCall> values_at;  ///< reads values from x
  Kernel<ValuesAtCall> scatter;    ///< writes values to x, which is zero on entry
};

}  // namespace fovea::ops
