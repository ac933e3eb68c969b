// Box blurs with fractional radius in 24-bit fixed point (Gwosdek et al. 2011), and direct
// convolution.
//
// Compiled without fused multiply-add (CMakeLists.txt) for bit-identical results with Pillow.
#include "data/augment/blur.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <vector>

#include "data/geometry/transforms.h"
#include "engine/base/error.h"

namespace fovea {
namespace {

constexpr int kPasses = 3;
constexpr std::uint32_t kOne = 1U << 24;

/// The radius of the box whose kPasses-fold blur has the standard deviation `radius`; in f32 like
/// Pillow.
float box_radius(float radius) {
  const float variance = radius * radius / kPasses;
  const auto length = static_cast<float>(std::sqrt(12.0 * variance + 1.0));
  const auto whole = static_cast<float>(std::floor((length - 1.0) / 2.0));
  float part = (2 * whole + 1) * (whole * (whole + 1) - 3 * variance);
  part /= 6 * (variance - (whole + 1) * (whole + 1));
  return whole + part;
}

/// A box of 2 whole + 1 values with weight `inner` and one more at each end with weight `outer`.
struct Box {
  std::int64_t whole;
  std::uint32_t inner, outer;

  explicit Box(float radius)
      : whole(static_cast<std::int64_t>(radius)),
        inner(static_cast<std::uint32_t>(static_cast<float>(kOne) / (radius * 2 + 1))),
        outer((kOne - static_cast<std::uint32_t>(whole * 2 + 1) * inner) / 2) {}
};

/// Lines to blur along their length: value i of a line is at i * stride.
struct Lines {
  std::int64_t count, line_step;  ///< number of lines, and distance between them
  std::int64_t length, stride;
};

/// Blurs one line; `line` has room for `length` values.
void blur_line(const Box& box, std::uint8_t* values, const Lines& lines, std::uint8_t* line) {
  const std::int64_t last = lines.length - 1;
  for (std::int64_t i = 0; i <= last; ++i) line[i] = values[i * lines.stride];
  const auto at = [line, last](std::int64_t i) -> std::uint32_t {
    return line[std::clamp<std::int64_t>(i, 0, last)];
  };
  std::uint32_t sum = 0;  // over [i - whole, i + whole]
  for (std::int64_t k = -box.whole - 1; k < box.whole; ++k) sum += at(k);
  for (std::int64_t i = 0; i <= last; ++i) {
    sum += at(i + box.whole) - at(i - box.whole - 1);
    const std::uint32_t ends = at(i - box.whole - 1) + at(i + box.whole + 1);
    const std::uint32_t value = sum * box.inner + ends * box.outer;
    values[i * lines.stride] = static_cast<std::uint8_t>((value + kOne / 2) >> 24);
  }
}

void blur_lines(const Box& box, std::uint8_t* values, const Lines& lines) {
  std::vector<std::uint8_t> line(static_cast<std::size_t>(lines.length));
  for (std::int64_t k = 0; k < lines.count; ++k)
    for (int pass = 0; pass < kPasses; ++pass)
      blur_line(box, values + k * lines.line_step, lines, line.data());
}

/// Gaussian weights that sum to 1.
std::vector<float> gaussian_taps(std::int64_t count, double deviation) {
  std::vector<double> weights;
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const double x = static_cast<double>(i - count / 2) / deviation;
    sum += weights.emplace_back(std::exp(-0.5 * x * x));
  }
  std::vector<float> taps;
  taps.reserve(weights.size());
  for (const double weight : weights) taps.push_back(static_cast<float>(weight / sum));
  return taps;
}

/// output[i] = sum_k taps[k] input[i + k * step].
template <class T>
void convolve(const std::vector<float>& taps, const T* input, std::int64_t step,
              std::span<float> output) {
  std::fill(output.begin(), output.end(), 0.0F);
  for (const float tap : taps) {
    for (std::size_t i = 0; i < output.size(); ++i) output[i] += tap * static_cast<float>(input[i]);
    input += step;
  }
}

}  // namespace

Image gaussian_blur(const Image& image, double radius) {
  require_rgb8(image, "gaussian_blur");
  check(radius >= 0 && radius <= 1000, "gaussian_blur: got radius ", radius,
        ", expected 0 to 1000");
  Image result = image;
  if (image.pixels.empty()) return result;
  const Box box(box_radius(static_cast<float>(radius)));
  const std::int64_t row = image.width * Image::kChannels;
  for (std::int64_t y = 0; y < image.height; ++y)
    blur_lines(box, result.at(y, 0), {Image::kChannels, 1, image.width, Image::kChannels});
  blur_lines(box, result.pixels.data(), {row, 1, image.height, row});
  return result;
}

Image gaussian_filter(const Image& image, std::int64_t taps, double deviation) {
  require_rgb8(image, "gaussian_filter");
  check(taps >= 1 && taps % 2 == 1, "gaussian_filter: got ", taps, " taps, expected an odd number");
  check(deviation > 0 && deviation <= 1000, "gaussian_filter: got standard deviation ", deviation,
        ", expected more than 0 and at most 1000");
  if (image.pixels.empty()) return image;
  const std::vector<float> weights = gaussian_taps(taps, deviation);
  const std::int64_t around = taps / 2, row = image.width * Image::kChannels;
  const PixelBox box{-around, image.height + around, -around, image.width + around};
  const Image wide = crop(image, box, Padding::reflect);
  std::vector<float> lines(static_cast<std::size_t>(wide.height * row));  // blurred along x
  std::vector<float> line(static_cast<std::size_t>(row));
  for (std::int64_t y = 0; y < wide.height; ++y)
    convolve(weights, wide.at(y, 0), Image::kChannels,
             std::span(lines).subspan(static_cast<std::size_t>(y * row), line.size()));
  Image result(image.height, image.width);
  for (std::int64_t y = 0; y < image.height; ++y) {
    convolve(weights, lines.data() + y * row, row, std::span(line));
    for (std::int64_t i = 0; i < row; ++i)
      result.at(y, 0)[i] = static_cast<std::uint8_t>(std::nearbyint(line[i]));
  }
  return result;
}

}  // namespace fovea
