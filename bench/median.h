// The figures that benchmarks report of repeated measurements.
#pragma once

#include <algorithm>
#include <vector>

namespace fovea::bench {

/// The middle value; of two, the larger. There is at least one.
inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// How many times as fast as the other a side is, from the seconds of alternating turns. They are
/// compared turn by turn, because the machine's speed changes with time.
inline double speedup(const std::vector<double>& side, const std::vector<double>& other) {
  std::vector<double> ratios;
  for (std::size_t turn = 0; turn < side.size(); ++turn) ratios.push_back(other[turn] / side[turn]);
  return median(ratios);
}

}  // namespace fovea::bench
