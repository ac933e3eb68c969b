// Resizing of u16 and f32 images; values are f32 between the passes.
#include "data/geometry/resize_values.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "data/geometry/pixel_value.h"

namespace fovea {
namespace {

/// Rows of pixels with `channels` values each.
struct Values {
  std::int64_t height, width, channels;
  std::vector<float> at;

  [[nodiscard]] std::int64_t row() const { return width * channels; }
};

Values zeros_of(std::int64_t height, std::int64_t width, std::int64_t channels) {
  return {height, width, channels,
          std::vector<float>(static_cast<std::size_t>(height * width * channels))};
}

/// The weighted sum for output `i` of values that are `stride` apart, starting at `from`.
float weighed(const AxisWeights& weights, std::int64_t i, const float* from, std::int64_t stride) {
  const double* weight = weights.values.data() + i * weights.taps;
  double sum = 0;
  for (std::int64_t k = 0; k < weights.count[i]; ++k)
    sum += static_cast<double>(from[(weights.first[i] + k) * stride]) * weight[k];
  return static_cast<float>(sum);
}

Values across(const Values& source, const AxisWeights& weights) {
  Values result = zeros_of(source.height, std::ssize(weights.first), source.channels);
  for (std::int64_t y = 0; y < result.height; ++y) {
    const float* from = source.at.data() + y * source.row();
    float* to = result.at.data() + y * result.row();
    for (std::int64_t i = 0; i < result.row(); ++i)
      to[i] = weighed(weights, i / source.channels, from + i % source.channels, source.channels);
  }
  return result;
}

Values down(const Values& source, const AxisWeights& weights) {
  Values result = zeros_of(std::ssize(weights.first), source.width, source.channels);
  for (std::int64_t y = 0; y < result.height; ++y) {
    float* to = result.at.data() + y * result.row();
    for (std::int64_t i = 0; i < result.row(); ++i)
      to[i] = weighed(weights, y, source.at.data() + i, source.row());
  }
  return result;
}

template <class T>
Image resize_as(const Image& image, const ResizePasses& passes) {
  const T* from = image.values<T>(0, 0);
  const std::int64_t count = image.height * image.width * image.format.channels;
  Values values{image.height, image.width, image.format.channels, {from, from + count}};
  const auto vertical = [&] {
    if (passes.rows != nullptr) values = down(values, *passes.rows);
  };
  if (passes.vertical_first) vertical();
  if (passes.columns != nullptr) values = across(values, *passes.columns);
  if (!passes.vertical_first) vertical();
  Image result(values.height, values.width, image.format);
  T* to = result.values<T>(0, 0);
  for (const float value : values.at) *to++ = pixel_value<T>(static_cast<double>(value));
  return result;
}

}  // namespace

Image resize_values(const Image& image, const ResizePasses& passes) {
  return with_pixel_type(image.format,
                         [&](auto zero) { return resize_as<decltype(zero)>(image, passes); });
}

}  // namespace fovea
