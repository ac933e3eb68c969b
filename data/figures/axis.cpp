// Tick placement: steps are 1, 2 or 5 times a power of ten.
#include "data/figures/axis.h"
#include "engine/base/text.h"

#include <algorithm>
#include <limits>

namespace fovea {
namespace {

/// The smallest round step (1, 2 or 5 times a power of ten) that is at least `least`.
double round_step(double least) {
  const double power = std::pow(10.0, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= least * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

}  // namespace

Axis axis_around(std::span<const double> values, bool whole_steps) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const double value : values) {
    if (!is_drawable(value)) continue;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  if (low > high) return {};
  if (high == low && !whole_steps) {  // one value, in the middle
    low -= std::abs(high) / 20;
    high += std::abs(high) / 20;
  }
  const double least_range = whole_steps ? 1.0 : std::max(1e-9, std::abs(high) * 1e-6);
  if (high - low < least_range) high = low + least_range;
  double step = round_step((high - low) / 6);
  if (whole_steps) step = std::max(step, 1.0);
  return {std::floor(low / step + 1e-9) * step, std::ceil(high / step - 1e-9) * step, step};
}

std::string tick_label(double value, double step) {
  const double size = std::max(std::abs(value), step);
  if (size >= 1e6 || step < 1e-4) {
    const int digits = static_cast<int>(std::ceil(std::log10(size / step))) + 1;
    return general_text(std::abs(value) < step / 2 ? 0.0 : value, std::max(3, digits));
  }
  return fixed_text(value, std::max(0, static_cast<int>(-std::floor(std::log10(step) + 1e-9))));
}

}  // namespace fovea
