// Affine maps: every output pixel centre is mapped to the source and sampled there.
//
// Compiled without fused multiply-add (CMakeLists.txt) for bit-identical results with Pillow.
#include "data/augment/affine.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "data/augment/affine_sample.h"
#include "data/augment/affine_values.h"
#include "engine/base/error.h"

namespace fovea {
namespace {

Image filled(const Image& like, PixelBytes fill) {
  Image result(like.height, like.width, like.format);
  if (fill.empty()) return result;
  for (std::size_t i = 0; i < result.pixels.size(); i += fill.size())
    std::copy(fill.begin(), fill.end(), result.pixels.data() + i);
  return result;
}

/// The range of a row's pixels that map to the inside of the image. Rounding preserves the order
/// of positions, so they are consecutive.
Span inside(const MappedRow& row, ImageSize size) {
  const auto width = static_cast<double>(size.width), height = static_cast<double>(size.height);
  const auto outside = [&](std::int64_t x) {
    const PixelPoint at = row.source(x);
    return !(at.x >= 0 && at.x < width && at.y >= 0 && at.y < height);  // true for NaN as well
  };
  Span span{0, size.width};
  while (span.begin < span.end && outside(span.begin)) ++span.begin;
  while (span.begin < span.end && outside(span.end - 1)) --span.end;
  return span;
}

void fill_span(std::uint8_t* pixels, const Span& span, const Color8& fill) {
  for (std::int64_t x = span.begin; x < span.end; ++x)
    std::copy_n(fill.data(), Image::kChannels, pixels + x * Image::kChannels);
}

/// Bilinear and bicubic sampling of 8-bit RGB.
Image transform_smoothly(const Image& image, const AffineMap& map, const Sampling& sampling) {
  Image result(image.height, image.width);
  const Surface source(image);
  const auto sample = sampling.filter == Filter::bilinear ? sample_bilinear : sample_bicubic;
  for (std::int64_t y = 0; y < image.height; ++y) {
    const MappedRow row{map, static_cast<double>(y) + 0.5, result.at(y, 0)};
    const Span span = inside(row, {image.height, image.width});
    fill_span(row.pixels, {0, span.begin}, sampling.fill);
    sample(source, row, span);
    fill_span(row.pixels, {span.end, image.width}, sampling.fill);
  }
  return result;
}

/// Converts to 16 fractional bits, rounding to nearest.
std::int64_t fixed_point(double v) {
  return static_cast<std::int64_t>(std::floor(v * 65536 + 0.5));
}

/// Nearest sampling for maps that rotate or shear: in fixed point, like Pillow.
Image transform_nearest(const Image& image, const AffineMap& map, PixelBytes fill) {
  Image result = filled(image, fill);
  const std::int64_t bytes = image.format.bytes();
  const std::int64_t xx = fixed_point(map.xx), xy = fixed_point(map.xy);
  const std::int64_t yx = fixed_point(map.yx), yy = fixed_point(map.yy);
  std::int64_t row_x = fixed_point(map.x0 + map.xx * 0.5 + map.xy * 0.5);
  std::int64_t row_y = fixed_point(map.y0 + map.yx * 0.5 + map.yy * 0.5);
  for (std::int64_t y = 0; y < image.height; ++y, row_x += xy, row_y += yy) {
    std::int64_t at_x = row_x, at_y = row_y;
    for (std::int64_t x = 0; x < image.width; ++x, at_x += xx, at_y += yx) {
      const std::int64_t from_x = at_x >> 16, from_y = at_y >> 16;
      const bool inside =
          from_x >= 0 && from_x < image.width && from_y >= 0 && from_y < image.height;
      if (inside) std::copy_n(image.at(from_y, from_x), bytes, result.at(y, x));
    }
  }
  return result;
}

/// Nearest sampling for maps that only translate and scale: accumulates positions in f64, like
/// Pillow.
Image scale_nearest(const Image& image, const AffineMap& map, PixelBytes fill) {
  const auto sources = [](double start, double step, std::int64_t count) {
    std::vector<std::int64_t> result;
    double at = start + step * 0.5;
    for (std::int64_t i = 0; i < count; ++i, at += step)
      result.push_back(at < 0 ? -1 : static_cast<std::int64_t>(at));
    return result;
  };
  const std::vector<std::int64_t> columns = sources(map.x0, map.xx, image.width);
  const std::vector<std::int64_t> rows = sources(map.y0, map.yy, image.height);
  Image result = filled(image, fill);
  const std::int64_t bytes = image.format.bytes();
  for (std::int64_t y = 0; y < image.height; ++y) {
    if (rows[y] < 0 || rows[y] >= image.height) continue;
    for (std::int64_t x = 0; x < image.width; ++x) {
      const bool inside = columns[x] >= 0 && columns[x] < image.width;
      if (inside) std::copy_n(image.at(rows[y], columns[x]), bytes, result.at(y, x));
    }
  }
  return result;
}

Color8 color_of(PixelBytes fill) {
  Color8 color{};
  std::copy(fill.begin(), fill.end(), color.begin());
  return color;
}

}  // namespace

Image transform(const Image& image, const AffineMap& map, Filter filter, PixelBytes fill) {
  for (const double v : {map.xx, map.xy, map.x0, map.yx, map.yy, map.y0})
    check(std::isfinite(v) && std::abs(v) < 1e6, "transform: got ", v,
          " in the map, expected -1e6 to 1e6");
  check(fill.empty() || std::ssize(fill) == image.format.bytes(), "transform: got a fill of ",
        fill.size(), " bytes, a pixel has ", image.format.bytes());
  switch (filter) {
    case Filter::nearest:
      return map.xy == 0 && map.yx == 0 ? scale_nearest(image, map, fill)
                                        : transform_nearest(image, map, fill);
    case Filter::bilinear:
    case Filter::bicubic:
      if (image.pixels.empty()) return image;
      if (!image.is_rgb8()) return transform_values(image, map, filter, filled(image, fill));
      return transform_smoothly(image, map, {filter, color_of(fill)});
    default:
      fail("transform: got a filter for resizing, expected nearest, bilinear or bicubic");
  }
}

Image transform(const Image& image, const AffineMap& map, const Sampling& sampling) {
  return transform(image, map, sampling.filter, sampling.fill);
}

}  // namespace fovea
