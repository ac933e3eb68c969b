// Interpolation for any channels and types, one value at a time, with the formulas of
// affine_sample.cpp.
#include "data/augment/affine_values.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "data/augment/affine_sample.h"
#include "data/geometry/pixel_value.h"

namespace fovea {
namespace {

/// The neighbours of a point along one axis (the outermost pixels repeat beyond the edges) and
/// their weights.
struct AxisTaps {
  std::array<std::int64_t, 4> at{};
  std::array<double, 4> weight{};
  std::size_t count = 2;
};

/// Keys' cubic with a = -1 for a pixel at this distance.
double cubic_weight(double distance) {
  const double x = std::abs(distance);
  return x < 1 ? (x - 2) * x * x + 1 : x < 2 ? ((-x + 5) * x - 8) * x + 4 : 0;
}

AxisTaps taps_around(double coordinate, std::int64_t side, Filter filter) {
  const double center = coordinate - 0.5, floor = std::floor(center);
  AxisTaps taps;
  taps.count = filter == Filter::bilinear ? 2 : 4;
  const auto first = static_cast<std::int64_t>(floor) - (taps.count == 2 ? 0 : 1);
  for (std::size_t k = 0; k < taps.count; ++k) {
    const std::int64_t at = first + static_cast<std::int64_t>(k);
    const double distance = center - static_cast<double>(at);
    taps.at[k] = std::clamp<std::int64_t>(at, 0, side - 1);
    taps.weight[k] = taps.count == 2 ? 1 - std::abs(distance) : cubic_weight(distance);
  }
  return taps;
}

template <class T>
double interpolated(const Image& image, const AxisTaps& rows, const AxisTaps& columns,
                    int channel) {
  double sum = 0;
  for (std::size_t j = 0; j < rows.count; ++j) {
    double row = 0;
    for (std::size_t i = 0; i < columns.count; ++i)
      row += columns.weight[i] *
             static_cast<double>(image.values<T>(rows.at[j], columns.at[i])[channel]);
    sum += rows.weight[j] * row;
  }
  return sum;
}

template <class T>
void sample_into(const Image& image, const AffineMap& map, Filter filter, Image& result) {
  const auto width = static_cast<double>(image.width), height = static_cast<double>(image.height);
  for (std::int64_t y = 0; y < image.height; ++y) {
    for (std::int64_t x = 0; x < image.width; ++x) {
      const PixelPoint at = apply(map, static_cast<double>(x) + 0.5, static_cast<double>(y) + 0.5);
      if (!(at.x >= 0 && at.x < width && at.y >= 0 && at.y < height)) continue;
      const AxisTaps rows = taps_around(at.y, image.height, filter);
      const AxisTaps columns = taps_around(at.x, image.width, filter);
      for (int c = 0; c < image.format.channels; ++c)
        result.values<T>(y, x)[c] = pixel_value<T>(interpolated<T>(image, rows, columns, c));
    }
  }
}

}  // namespace

Image transform_values(const Image& image, const AffineMap& map, Filter filter, Image background) {
  with_pixel_type(image.format,
                  [&](auto zero) { sample_into<decltype(zero)>(image, map, filter, background); });
  return background;
}

}  // namespace fovea
