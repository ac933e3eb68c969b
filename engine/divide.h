// Taking a position apart.
#pragma once

#include <cstdint>

#include "engine/device.h"

namespace fovea {

struct Division {
  std::int64_t quotient, remainder;
};
/// A division of 32 bits wherever they hold both numbers, neither of which is negative: one of 64
/// takes several times as long.
FOVEA_HD inline Division divide(std::int64_t number, std::int64_t by) {
  if (((number | by) >> 32) != 0) return {number / by, number % by};
  const auto n = static_cast<std::uint32_t>(number), d = static_cast<std::uint32_t>(by);
  return {n / d, n % d};
}

}  // namespace fovea
