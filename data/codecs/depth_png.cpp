// Metres to millimetres and back.
#include "data/codecs/depth_png.h"

#include <algorithm>
#include <cmath>

#include "engine/base/error.h"

namespace fovea {
namespace {

/// The values of an intact file, u16 x 1.
Image stored_values(std::span<const std::uint8_t> bytes, const std::string& name,
                    std::int64_t max_pixels) {
  Image stored =
      decode_image(bytes, name, DecodeOptions{.max_pixels = max_pixels, .as_stored = true});
  if (stored.format == PixelFormat{PixelType::u16, 1}) return stored;
  throw ImageError(name + ": got a picture of " + to_string(stored.format) +
                   ", expected a depth map: a PNG of u16 x 1");
}

}  // namespace

Image decode_depth_png(std::span<const std::uint8_t> bytes, const std::string& name,
                       std::int64_t max_pixels, double scale) {
  const Image stored = stored_values(bytes, name, max_pixels);
  Image metres(stored.height, stored.width, {PixelType::f32, 1});
  const auto* from = stored.values<std::uint16_t>(0, 0);
  std::transform(
      from, from + stored.height * stored.width, metres.values<float>(0, 0),
      [&](std::uint16_t v) { return v == kUnknownDepth ? 0.0F : static_cast<float>(v / scale); });
  return metres;
}

Image millimetres(const Image& metres) {
  check(metres.format == PixelFormat{PixelType::f32, 1}, "millimetres: got an image of ",
        to_string(metres.format), ", expected f32 x 1, in metres");
  Image stored(metres.height, metres.width, {PixelType::u16, 1});
  const float* from = metres.values<float>(0, 0);
  auto* to = stored.values<std::uint16_t>(0, 0);
  for (std::int64_t i = 0; i < metres.height * metres.width; ++i) {
    check(std::isfinite(from[i]) && from[i] >= 0, "millimetres: got a depth of ", from[i],
          " m at row ", i / metres.width, ", column ", i % metres.width,
          ", expected 0 (unknown) or more");
    to[i] = static_cast<std::uint16_t>(
        std::lround(std::min<double>(from[i], kMaxPngDepth) * kMillimetres));
  }
  return stored;
}

std::string encode_depth_png(const Image& metres) { return encode_png(millimetres(metres)); }

}  // namespace fovea
