// Arithmetic of tile and task sizes. For CPU kernels, which must not call std::min and std::max
// (see ops/kernels.h).
#pragma once

#include <cstdint>

namespace fovea::ops::cpu::FOVEA_ISA {

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
constexpr std::int64_t smaller(std::int64_t a, std::int64_t b) { return a < b ? a : b; }
constexpr std::int64_t larger(std::int64_t a, std::int64_t b) { return a > b ? a : b; }

inline constexpr std::int64_t kMinElements = 1 << 14;    ///< elements that justify waking a thread
inline constexpr std::int64_t kMinMultiplied = 1 << 17;  ///< multiply-adds that justify a thread

/// Number of tasks of `size` that are worth `least` together: the grain of a parallel loop over
/// them.
constexpr std::int64_t grain(std::int64_t least, std::int64_t size) {
  return larger(1, least / larger(1, size));
}

}  // namespace fovea::ops::cpu::FOVEA_ISA
