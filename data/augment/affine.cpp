// Affine maps: every output pixel's centre is mapped to the source and sampled there.
//
// Compiled without fused multiply-add (CMakeLists.txt): the results are to be Pillow's bits.
#include "data/augment/affine.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numbers>
#include <vector>

#include "base/error.h"
#include "data/augment/affine_sample.h"

namespace fovea {
namespace {

Image filled(const Image& like, const Color8& fill) {
  Image result(like.height, like.width);
  for (std::size_t i = 0; i < result.pixels.size(); i += Image::kChannels)
    std::copy_n(fill.data(), Image::kChannels, result.pixels.data() + i);
  return result;
}

/// The pixels of a row that come from inside of the image: rounding keeps the order of positions,
/// so they stand side by side.
Span inside(const MappedRow& row, ImageSize size) {
  const auto width = static_cast<double>(size.width), height = static_cast<double>(size.height);
  const auto outside = [&](std::int64_t x) {
    const Point at = row.source(x);
    return !(at.x >= 0 && at.x < width && at.y >= 0 && at.y < height);  // nor is NaN inside
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

Image transform_smoothly(const Image& image, const AffineMap& map, const Sampling& sampling) {
  if (image.pixels.empty()) return image;
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

/// 16 fractional bits, rounded to the nearest.
std::int64_t fixed_point(double v) {
  return static_cast<std::int64_t>(std::floor(v * 65536 + 0.5));
}

/// The nearest pixel of a map that turns or shears: in fixed point, as Pillow does.
Image transform_nearest(const Image& image, const AffineMap& map, const Color8& fill) {
  Image result = filled(image, fill);
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
      if (inside) std::copy_n(image.at(from_y, from_x), Image::kChannels, result.at(y, x));
    }
  }
  return result;
}

/// The same of a map that only shifts and scales: positions are added up in f64, as Pillow does.
Image scale_nearest(const Image& image, const AffineMap& map, const Color8& fill) {
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
  for (std::int64_t y = 0; y < image.height; ++y) {
    if (rows[y] < 0 || rows[y] >= image.height) continue;
    for (std::int64_t x = 0; x < image.width; ++x) {
      const bool inside = columns[x] >= 0 && columns[x] < image.width;
      if (inside) std::copy_n(image.at(rows[y], columns[x]), Image::kChannels, result.at(y, x));
    }
  }
  return result;
}

/// Python's round(x, 15): the nearest decimal of 15 places, then the nearest double.
double round15(double x) {
  std::array<char, 64> text;
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), x, std::chars_format::fixed, 15);
  double value = 0;
  std::from_chars(text.data(), end.ptr, value);
  return value;
}

/// A quarter or half turn of the pixels themselves.
Image turn(const Image& image, int quarters) {
  Image result(image.height, image.width);
  for (std::int64_t y = 0; y < image.height; ++y) {
    for (std::int64_t x = 0; x < image.width; ++x) {
      const std::uint8_t* from = quarters == 1 ? image.at(x, image.width - 1 - y)
                                 : quarters == 2
                                     ? image.at(image.height - 1 - y, image.width - 1 - x)
                                     : image.at(image.height - 1 - x, y);
      std::copy_n(from, Image::kChannels, result.at(y, x));
    }
  }
  return result;
}

}  // namespace

Image transform(const Image& image, const AffineMap& map, const Sampling& sampling) {
  for (const double v : {map.xx, map.xy, map.x0, map.yx, map.yy, map.y0})
    check(std::isfinite(v) && std::abs(v) < 1e6, "transform: got ", v,
          " in the map, expected -1e6 to 1e6");
  switch (sampling.filter) {
    case Filter::nearest:
      return map.xy == 0 && map.yx == 0 ? scale_nearest(image, map, sampling.fill)
                                        : transform_nearest(image, map, sampling.fill);
    case Filter::bilinear:
    case Filter::bicubic:
      return transform_smoothly(image, map, sampling);
    default:
      fail("transform: got a filter for resizing, expected nearest, bilinear or bicubic");
  }
}

Image rotate(const Image& image, double degrees, const Sampling& sampling) {
  check(std::isfinite(degrees), "rotate: got ", degrees, " degrees, expected a finite number");
  double angle = std::fmod(degrees, 360.0);
  if (angle < 0) angle += 360;
  if (angle == 0) return image;
  if (angle == 180) return turn(image, 2);
  if (image.width == image.height && (angle == 90 || angle == 270)) {
    return turn(image, angle == 90 ? 1 : 3);
  }
  const double radians = -(angle * (std::numbers::pi / 180));
  const double cosine = round15(std::cos(radians)), sine = round15(std::sin(radians));
  const double center_x = static_cast<double>(image.width) / 2;
  const double center_y = static_cast<double>(image.height) / 2;
  AffineMap map{cosine, sine, 0, round15(-std::sin(radians)), cosine, 0};
  const Point moved = apply(map, -center_x, -center_y);
  map.x0 = moved.x + center_x;
  map.y0 = moved.y + center_y;
  return transform(image, map, sampling);
}

Image shear_x(const Image& image, double factor, const Sampling& sampling) {
  AffineMap map;
  map.xy = factor;
  return transform(image, map, sampling);
}

Image shear_y(const Image& image, double factor, const Sampling& sampling) {
  AffineMap map;
  map.yx = factor;
  return transform(image, map, sampling);
}

Image translate(const Image& image, double right, double down, const Sampling& sampling) {
  AffineMap map;
  map.x0 = right;
  map.y0 = down;
  return transform(image, map, sampling);
}

}  // namespace fovea
