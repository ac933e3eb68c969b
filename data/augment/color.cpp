// Blending with a degenerate image, and grayscale.
//
// Compiled without fused multiply-add (CMakeLists.txt) for bit-identical results with Pillow.
#include "data/augment/color.h"

#include <algorithm>
#include <cmath>

#include "engine/base/error.h"

namespace fovea {
namespace {

std::uint8_t luma(const std::uint8_t* rgb) {
  return static_cast<std::uint8_t>((19595 * rgb[0] + 38470 * rgb[1] + 7471 * rgb[2] + 32768) >> 16);
}

/// Blends one value; `factor` is a float in Pillow, too.
std::uint8_t mix(int from, int to, float factor) {
  const float value = static_cast<float>(from) + factor * static_cast<float>(to - from);
  return static_cast<std::uint8_t>(std::clamp(value, 0.0F, 255.0F));
}

float checked(double factor, const char* where) {
  check(std::isfinite(factor), where, ": got factor ", factor, ", expected a finite number");
  return static_cast<float>(factor);
}

/// mix() of all values with one level, as a lookup table.
Image blend_with(std::uint8_t level, const Image& image, float factor) {
  std::array<std::uint8_t, 256> table;
  for (int v = 0; v < 256; ++v) table[v] = mix(level, v, factor);
  Image result = image;
  for (std::uint8_t& value : result.pixels) value = table[value];
  return result;
}

/// Python's int(mean of the luma + 0.5).
std::uint8_t mean_luma(const Image& image) {
  const std::int64_t area = image.height * image.width;
  std::int64_t sum = 0;
  for (std::int64_t i = 0; i < area; ++i) sum += luma(image.pixels.data() + i * Image::kChannels);
  return static_cast<std::uint8_t>(static_cast<double>(sum) / static_cast<double>(area) + 0.5);
}

/// The filter (1 1 1, 1 5 1, 1 1 1) / 13, rounded. Thirteenths are never halfway, so integer
/// arithmetic is bit-identical with Pillow. Border pixels are unchanged.
Image smooth(const Image& image) {
  Image result = image;
  const std::int64_t row = image.width * Image::kChannels;
  for (std::int64_t y = 1; y + 1 < image.height; ++y) {
    const std::uint8_t* center = image.at(y, 0);
    std::uint8_t* output = result.at(y, 0);
    for (std::int64_t i = Image::kChannels; i < row - Image::kChannels; ++i) {
      int sum = 4 * center[i];
      for (const std::int64_t line : {-row, std::int64_t{0}, row})
        sum += center[i + line - Image::kChannels] + center[i + line] +
               center[i + line + Image::kChannels];
      output[i] = static_cast<std::uint8_t>((2 * sum + 13) / 26);
    }
  }
  return result;
}

}  // namespace

Image blend(const Image& a, const Image& b, double share) {
  check(a.height == b.height && a.width == b.width, "blend: got ", a.height, " x ", a.width,
        " and ", b.height, " x ", b.width, ", expected equal sizes");
  require_rgb8(a, "blend");
  require_rgb8(b, "blend");
  const float factor = checked(share, "blend");
  Image result(a.height, a.width);
  for (std::size_t i = 0; i < result.pixels.size(); ++i)
    result.pixels[i] = mix(a.pixels[i], b.pixels[i], factor);
  return result;
}

Image grayscale(const Image& image) {
  require_rgb8(image, "grayscale");
  Image result(image.height, image.width);
  for (std::size_t i = 0; i < result.pixels.size(); i += Image::kChannels)
    std::fill_n(result.pixels.data() + i, Image::kChannels, luma(image.pixels.data() + i));
  return result;
}

Image adjust_saturation(const Image& image, double factor) {
  require_rgb8(image, "adjust_saturation");
  const float f = checked(factor, "adjust_saturation");
  Image result(image.height, image.width);
  for (std::size_t i = 0; i < result.pixels.size(); i += Image::kChannels) {
    const std::uint8_t* rgb = image.pixels.data() + i;
    const std::uint8_t gray = luma(rgb);
    for (std::size_t c = 0; c < Image::kChannels; ++c) result.pixels[i + c] = mix(gray, rgb[c], f);
  }
  return result;
}

Image adjust_contrast(const Image& image, double factor) {
  require_rgb8(image, "adjust_contrast");
  const float f = checked(factor, "adjust_contrast");
  return image.pixels.empty() ? image : blend_with(mean_luma(image), image, f);
}

Image adjust_brightness(const Image& image, double factor) {
  require_rgb8(image, "adjust_brightness");
  return blend_with(0, image, checked(factor, "adjust_brightness"));
}

Image adjust_sharpness(const Image& image, double factor) {
  require_rgb8(image, "adjust_sharpness");
  return blend(smooth(image), image, checked(factor, "adjust_sharpness"));
}

}  // namespace fovea
