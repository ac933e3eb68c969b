// How work is cut: the arithmetic of tiles and tasks. For kernels of the CPU, which may not call
// std::min and std::max (see ops/kernels.h).
#pragma once

#include <cstdint>

namespace fovea::ops::cpu::FOVEA_ISA {

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
constexpr std::int64_t smaller(std::int64_t a, std::int64_t b) { return a < b ? a : b; }
constexpr std::int64_t larger(std::int64_t a, std::int64_t b) { return a > b ? a : b; }

inline constexpr std::int64_t kMinElements = 1 << 14;    ///< elements that pay for waking a thread
inline constexpr std::int64_t kMinMultiplied = 1 << 17;  ///< multiply-adds that pay for a thread

/// Tasks of `size` that together are worth `least`: the grain of a parallel loop over them.
constexpr std::int64_t grain(std::int64_t least, std::int64_t size) {
  return larger(1, least / larger(1, size));
}

}  // namespace fovea::ops::cpu::FOVEA_ISA
