// The range check of indices and buckets; each op words its own error.
#pragma once

#include <limits>

#include "engine/tensor.h"
#include "ops/index/call.h"
#include "ops/kernels.h"

namespace fovea::ops::detail {

struct Outside {
  std::int64_t position = -1;  ///< -1: all are in range
  std::int64_t value = 0;

  explicit operator bool() const { return position >= 0; }
};

/// The half-open range [low, limit).
struct Bounds {
  std::int64_t low = std::numeric_limits<std::int64_t>::min(), limit = 0;
};

/// The first element of a packed i64 tensor outside of the bounds. `op` is static text.
[[nodiscard]] inline Outside first_outside(const char* op, const Tensor& packed, Bounds bounds) {
  Outside found;
  kernels(packed.device())
      .index.first_outside({op, packed.numel(), bounds.low, bounds.limit,
                            reinterpret_cast<const std::int64_t*>(packed.raw()), &found.position,
                            &found.value});
  return found;
}

}  // namespace fovea::ops::detail
