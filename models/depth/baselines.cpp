// Statistics of depth. Positive floats sort like their bits, so the upper bits are bins of equal
// relative width.
#include "models/depth/baselines.h"

#include <bit>
#include <cmath>

#include "engine/base/error.h"

namespace fovea {
namespace {

constexpr int kDropped = 11;  // bits of the mantissa: 12 remain, so a bin is 2^-12 wide
constexpr std::size_t kBins = std::size_t{1} << (31 - kDropped);

std::size_t bin_of(float depth) { return std::bit_cast<std::uint32_t>(depth) >> kDropped; }

/// The middle of a bin.
double depth_of(std::size_t bin) {
  const auto bits = static_cast<std::uint32_t>(bin << kDropped);
  return std::bit_cast<float>(bits | (std::uint32_t{1} << (kDropped - 1)));
}

}  // namespace

void DepthStatistics::add(const DepthPicture& depth) {
  if (sums_.empty()) {
    height_ = depth.height;
    width_ = depth.width;
    sums_.resize(depth.values.size());
    counts_.resize(depth.values.size());
    histogram_.resize(kBins);
  }
  check(depth.height == height_ && depth.width == width_ && depth.values.size() == sums_.size(),
        "depth baselines: got a picture of ", depth.height, " x ", depth.width, ", expected ",
        height_, " x ", width_, " like the first");
  for (std::size_t i = 0; i < sums_.size(); ++i) {
    const double value = depth.values[i];
    if (!(value > 0) || !std::isfinite(value)) continue;
    sums_[i] += value;
    ++counts_[i];
    ++histogram_[bin_of(static_cast<float>(value))];
    ++known_;
  }
}

double DepthStatistics::median() const {
  std::int64_t below = 0;
  for (std::size_t bin = 0; bin < histogram_.size(); ++bin) {
    below += histogram_[bin];
    if (2 * below >= known_) return depth_of(bin);
  }
  return 0;
}

DepthBaselines DepthStatistics::baselines() const {
  check(known_ > 0, "depth baselines: no depth is known in the training set, expected depths in ",
        "metres above 0");
  const double middle = median();
  DepthBaselines result{height_, width_, std::vector<double>(sums_.size(), middle), {}};
  result.mean.reserve(sums_.size());
  for (std::size_t i = 0; i < sums_.size(); ++i) {
    const auto count = static_cast<double>(counts_[i]);
    result.mean.push_back(count > 0 ? sums_[i] / count : middle);
  }
  return result;
}

}  // namespace fovea
