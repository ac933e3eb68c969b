// Fast integer division for turning a flat position into indices.
#pragma once

#include <cstdint>

#include "engine/device.h"

namespace fovea {

struct Division {
  std::int64_t quotient, remainder;
};
/// Divides in 32 bits when both numbers, which must not be negative, fit: a 64-bit division takes
/// several times as long.
FOVEA_HD inline Division divide(std::int64_t number, std::int64_t by) {
  if (((number | by) >> 32) != 0) return {number / by, number % by};
  const auto n = static_cast<std::uint32_t>(number), d = static_cast<std::uint32_t>(by);
  return {n / d, n % d};
}

}  // namespace fovea
