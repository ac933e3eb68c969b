// Counting many draws of a fixed seed against what they should be on average.
#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>

namespace fovea::tests {

/// Draws from which is_share() judges.
inline constexpr int kDraws = 4000;

/// Mean and deviation of values given one by one.
class Moments {
 public:
  void add(double value) {
    ++count_;
    sum_ += value;
    squares_ += value * value;
  }
  [[nodiscard]] double mean() const { return sum_ / count_; }
  [[nodiscard]] double deviation() const {
    return std::sqrt(std::max(0.0, squares_ / count_ - mean() * mean()));
  }

 private:
  double count_ = 0, sum_ = 0, squares_ = 0;
};

/// Whether `hits` of `draws` lie within four standard deviations of their probability.
inline bool is_share(std::int64_t hits, std::int64_t draws, double probability) {
  const auto n = static_cast<double>(draws);
  const double deviation = std::sqrt(n * probability * (1 - probability));
  return std::abs(static_cast<double>(hits) - n * probability) <= 4 * deviation;
}

}  // namespace fovea::tests
