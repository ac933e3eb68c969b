// Differences from f64 in units in the last place, and those that are allowed.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/tensor.h"

namespace fovea::tests {

/// Allowed difference of an element from f64: `units` in the last place of the dtype, at the larger
/// of the element's magnitude and its tensor's root mean square, because a sum's error grows with
/// its terms. In f64 the CPU's values have errors of the same size.
struct Bound {
  DType dtype;
  double epsilon, units;
};
inline constexpr Bound kBounds[] = {
    {DType::f64, 0x1p-52, 32}, {DType::f32, 0x1p-23, 32}, {DType::bf16, 0x1p-7, 4}};

/// Largest difference in units in the last place; infinite if one of the two is missing.
inline double worst_units(const Tensor& got, const Tensor& expected, double epsilon) {
  if (!got.defined() || !expected.defined())
    return got.defined() == expected.defined() ? 0 : INFINITY;
  if (!(got.shape() == expected.shape())) return INFINITY;
  const std::vector<double> a = got.to_vector(), b = expected.to_vector();
  double squares = 0, worst = 0;
  for (const double v : b) squares += std::isfinite(v) ? v * v : 0;
  const double scale = b.empty() ? 0 : std::sqrt(squares / static_cast<double>(b.size()));
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    const double units = std::abs(a[i] - b[i]) / (epsilon * std::max(std::abs(b[i]), scale));
    worst = std::max(worst, std::isnan(units) ? INFINITY : units);
  }
  return worst;
}

}  // namespace fovea::tests
