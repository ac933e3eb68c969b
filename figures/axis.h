// The axes of charts and the scales of colour bars: round tick positions and their labels.
#pragma once

#include <cmath>
#include <span>
#include <string>

namespace fovea {

/// Tick positions low, low + step, ..., high, which enclose the data.
struct Axis {
  double low = 0, high = 1, step = 0.2;

  [[nodiscard]] double share(double value) const { return (value - low) / (high - low); }
  [[nodiscard]] int ticks() const { return static_cast<int>(std::lround((high - low) / step)) + 1; }
  [[nodiscard]] double tick(int i) const { return low + i * step; }
};

/// Whether a value has a place in a picture: false for NaN, infinity and what is as good as that.
[[nodiscard]] inline bool is_drawable(double value) { return std::abs(value) < 1e30; }

/// An axis around the drawable values; `whole_steps` puts ticks at integers only.
[[nodiscard]] Axis axis_around(std::span<const double> values, bool whole_steps);

/// The value with as many decimals as the step needs.
[[nodiscard]] std::string tick_label(double value, double step);

}  // namespace fovea
