// Chart axes and colour bar scales: round tick positions and their labels.
#pragma once

#include <cmath>
#include <span>
#include <string>

namespace fovea {

/// Tick positions low, low + step, ..., high, enclosing the data.
struct Axis {
  double low = 0, high = 1, step = 0.2;

  [[nodiscard]] double share(double value) const { return (value - low) / (high - low); }
  [[nodiscard]] int ticks() const { return static_cast<int>(std::lround((high - low) / step)) + 1; }
  [[nodiscard]] double tick(int i) const { return low + i * step; }
};

/// Whether a value can be drawn: false for NaN, infinity and magnitudes of 1e30 or more.
[[nodiscard]] inline bool is_drawable(double value) { return std::abs(value) < 1e30; }

/// An axis around the drawable values; `whole_steps` restricts ticks to integers.
[[nodiscard]] Axis axis_around(std::span<const double> values, bool whole_steps);

/// The value with as many decimals as the step requires.
[[nodiscard]] std::string tick_label(double value, double step);

}  // namespace fovea
