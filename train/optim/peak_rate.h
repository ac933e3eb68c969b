// Peak learning rate of a run, optionally scaled with the samples per step.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/base/names.h"

namespace fovea {

enum class RateGrowth { linear, sqrt };
template <>
inline constexpr auto kNames<RateGrowth> =
    std::to_array<Named<RateGrowth>>({{RateGrowth::linear, "linear"}, {RateGrowth::sqrt, "sqrt"}});

struct PeakRate {
  std::optional<double> lr{};  ///< empty: computed from the samples per step
  double base = 1e-3;          ///< rate of a step with base_size samples
  std::int64_t base_size = 512;
  RateGrowth growth = RateGrowth::linear;
};

/// The rate at the end of the warm-up, for `samples` samples per step.
[[nodiscard]] double peak_lr(const PeakRate& rate, std::int64_t samples);

}  // namespace fovea
