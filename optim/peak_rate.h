// The highest learning rate of a run, which may grow with the samples of a step.
#pragma once

#include <cstdint>
#include <optional>

#include "base/names.h"

namespace fovea {

enum class RateGrowth { linear, sqrt };
template <>
inline constexpr auto kNames<RateGrowth> =
    std::to_array<Named<RateGrowth>>({{RateGrowth::linear, "linear"}, {RateGrowth::sqrt, "sqrt"}});

struct PeakRate {
  std::optional<double> lr{};  ///< none: by the samples of a step
  double base = 1e-3;          ///< the rate of a step of base_size samples
  std::int64_t base_size = 512;
  RateGrowth growth = RateGrowth::linear;
};

/// The rate at the end of the warm-up of a run whose steps take so many samples.
[[nodiscard]] double peak_lr(const PeakRate& rate, std::int64_t samples);

}  // namespace fovea
