// Sums of the measures over a picture, in f64 and in the order of its rows.
#include "models/depth/measures.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/base/error.h"

namespace fovea {
namespace {

constexpr double kDelta = 1.25;

/// Indices of the pixels that count.
std::vector<std::size_t> counted_pixels(const DepthProtocol& protocol, const DepthPicture& depth) {
  const DepthWindow part = window_of(protocol.crop, depth.height, depth.width);
  std::vector<std::size_t> pixels;
  for (std::int64_t y = part.top; y < part.bottom; ++y) {
    for (std::int64_t x = part.left; x < part.right; ++x) {
      const auto i = static_cast<std::size_t>(y * depth.width + x);
      if (protocol.counts(depth.values[i])) pixels.push_back(i);
    }
  }
  return pixels;
}

double median_at(const DepthPicture& picture, const std::vector<std::size_t>& pixels) {
  std::vector<double> values;
  values.reserve(pixels.size());
  for (const std::size_t i : pixels) values.push_back(picture.values[i]);
  return median_of(std::move(values));
}

void add_pixel(DepthMeasures& sums, double d, double target) {
  const double error = d - target, ratio = std::max(d / target, target / d);
  sums[kRmse] += error * error;
  sums[kAbsRel] += std::abs(error) / target;
  sums[kLog10] += std::abs(std::log10(d) - std::log10(target));
  double bound = kDelta;
  for (const DepthMeasure share : {kDelta1, kDelta2, kDelta3}) {
    sums[share] += ratio < bound ? 1 : 0;
    bound *= kDelta;
  }
}

}  // namespace

double median_of(std::vector<double> values) {
  check(!values.empty(), "median: got no values");
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

DepthSums& DepthSums::operator+=(const DepthSums& other) {
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += other.sums[i];
  pixels += other.pixels;
  pictures += other.pictures;
  return *this;
}

DepthMeasures DepthSums::measures() const {
  DepthMeasures means{};
  means.fill(std::numeric_limits<double>::quiet_NaN());
  if (pixels == 0) return means;
  for (std::size_t i = 0; i < sums.size(); ++i) means[i] = sums[i] / pixels;
  means[kRmse] = std::sqrt(means[kRmse]);
  means[kImageRmse] = sums[kImageRmse] / pictures;
  return means;
}

std::vector<double> DepthSums::to_vector() const {
  std::vector<double> values(sums.begin(), sums.end());
  values.insert(values.end(), {pixels, pictures});
  return values;
}

DepthSums DepthSums::from(std::span<const double> values) {
  check(values.size() == kDepthSums, "DepthSums: got ", values.size(), " values, expected ",
        kDepthSums);
  DepthSums result;
  std::copy_n(values.begin(), result.sums.size(), result.sums.begin());
  result.pixels = values[kDepthMeasures];
  result.pictures = values[kDepthMeasures + 1];
  return result;
}

DepthSums measure_depth(const DepthProtocol& protocol, const DepthPicture& predicted,
                        const DepthPicture& depth) {
  const auto count = static_cast<std::size_t>(depth.height * depth.width);
  check(predicted.height == depth.height && predicted.width == depth.width &&
            predicted.values.size() == count && depth.values.size() == count,
        "measure_depth: got a prediction of ", predicted.height, " x ", predicted.width, " with ",
        predicted.values.size(), " values for a depth of ", depth.height, " x ", depth.width,
        " with ", depth.values.size());
  DepthSums sums;
  const std::vector<std::size_t> pixels = counted_pixels(protocol, depth);
  if (pixels.empty()) return sums;
  double scale = 1;
  if (protocol.median) {
    scale = median_at(depth, pixels) / std::max(median_at(predicted, pixels), protocol.least);
  }
  for (const std::size_t i : pixels) {
    const double scaled = scale * predicted.values[i];
    add_pixel(sums.sums, std::clamp(scaled, protocol.least, protocol.most), depth.values[i]);
  }
  sums.pixels = static_cast<double>(pixels.size());
  sums.pictures = 1;
  sums.sums[kImageRmse] = std::sqrt(sums.sums[kRmse] / sums.pixels);
  return sums;
}

}  // namespace fovea
