// The figure that benchmarks report of repeated measurements.
#pragma once

#include <algorithm>
#include <vector>

namespace fovea::bench {

/// The middle value; of two, the larger. There is at least one.
inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace fovea::bench
