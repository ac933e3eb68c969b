// Affine maps: every output pixel's centre is mapped to the source and sampled there in f64.
//
// Compiled without fused multiply-add (CMakeLists.txt): the results are to be Pillow's bits.
#include "data/augment_affine.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numbers>
#include <utility>

#include "engine/check.h"

namespace fovea {
namespace {

constexpr int kChannels = Image::kChannels;

struct Point {
  double x, y;
};

Point apply(const AffineMap& map, double x, double y) {
  return {map.xx * x + map.xy * y + map.x0, map.yx * x + map.yy * y + map.y0};
}

constexpr int kLanes = 4;  // a pixel's channels and one more: what vector instructions want
using Lanes = std::array<double, kLanes>;

/// The image with every channel as f32, four to a pixel.
std::vector<float> spread(const Image& image) {
  const std::size_t pixels = image.pixels.size() / kChannels;
  std::vector<float> values(pixels * kLanes);
  for (std::size_t i = 0; i < pixels; ++i)
    for (std::size_t c = 0; c < kChannels; ++c)
      values[i * kLanes + c] = image.pixels[i * kChannels + c];
  return values;
}

/// a + (b - a) d.
template <class T>
Lanes linear(const T* const (&v)[2], double d) {
  Lanes result;
  for (int c = 0; c < kLanes; ++c) {
    const auto a = static_cast<double>(v[0][c]), slope = static_cast<double>(v[1][c] - v[0][c]);
    result[c] = a + slope * d;
  }
  return result;
}

/// Keys' cubic with a = -1 through four values, between the middle two. The coefficients of 8-bit
/// values are whole numbers, exact in f32.
template <class T>
Lanes cubic(const T* const (&v)[4], double d) {
  Lanes result;
  for (int c = 0; c < kLanes; ++c) {
    const T v0 = v[0][c], v1 = v[1][c], v2 = v[2][c], v3 = v[3][c];
    const auto p2 = static_cast<double>(-v0 + v2);
    const auto p3 = static_cast<double>(2 * (v0 - v1) + v2 - v3);
    const auto p4 = static_cast<double>(-v0 + v1 - v2 + v3);
    result[c] = static_cast<double>(v1) + d * (p2 + d * (p3 + d * p4));
  }
  return result;
}

template <int Taps, class T>
Lanes interpolate(const T* const (&v)[Taps], double d) {
  if constexpr (Taps == 2) {
    return linear(v, d);
  } else {
    return cubic(v, d);
  }
}

/// `Taps` neighbours around a point, from `first` on, and its distance from the one left of it.
struct Position {
  std::int64_t first;
  double distance;
};

template <int Taps>
Position position(double coordinate) {
  const double floor = std::floor(coordinate - 0.5);
  return {static_cast<std::int64_t>(floor) - (Taps / 2 - 1), coordinate - 0.5 - floor};
}

/// One colour at `at`, from 2 x 2 or 4 x 4 neighbours; those beyond an edge repeat its pixels.
/// `values` is the image, spread.
template <int Taps>
Lanes sample(const std::vector<float>& values, const Image& image, Point at) {
  const Position px = position<Taps>(at.x), py = position<Taps>(at.y);
  std::int64_t columns[Taps];
  for (int k = 0; k < Taps; ++k)
    columns[k] = std::clamp<std::int64_t>(px.first + k, 0, image.width - 1) * kLanes;
  Lanes rows[Taps];
  const double* lines[Taps];
  for (int j = 0; j < Taps; ++j) {
    const std::int64_t y = std::clamp<std::int64_t>(py.first + j, 0, image.height - 1);
    const float* row = values.data() + y * image.width * kLanes;
    const float* pixels[Taps];
    for (int k = 0; k < Taps; ++k) pixels[k] = row + columns[k];
    rows[j] = interpolate<Taps>(pixels, px.distance);
    lines[j] = rows[j].data();
  }
  return interpolate<Taps>(lines, py.distance);
}

Image filled(const Image& like, const Color8& fill) {
  Image result(like.height, like.width);
  for (std::size_t i = 0; i < result.pixels.size(); i += kChannels)
    std::copy(fill.begin(), fill.end(), result.pixels.begin() + static_cast<std::ptrdiff_t>(i));
  return result;
}

template <int Taps>
Image transform_smoothly(const Image& image, const AffineMap& map, const Color8& fill) {
  Image result = filled(image, fill);
  const std::vector<float> values = spread(image);
  const auto width = static_cast<double>(image.width), height = static_cast<double>(image.height);
  for (std::int64_t y = 0; y < image.height; ++y) {
    for (std::int64_t x = 0; x < image.width; ++x) {
      const Point at = apply(map, static_cast<double>(x) + 0.5, static_cast<double>(y) + 0.5);
      if (at.x < 0 || at.x >= width || at.y < 0 || at.y >= height) continue;
      const Lanes color = sample<Taps>(values, image, at);
      std::uint8_t* output = result.at(y, x);
      for (int c = 0; c < kChannels; ++c)
        output[c] = static_cast<std::uint8_t>(std::clamp(color[c], 0.0, 255.0));
    }
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
      if (inside) std::copy_n(image.at(from_y, from_x), kChannels, result.at(y, x));
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
      if (inside) std::copy_n(image.at(rows[y], columns[x]), kChannels, result.at(y, x));
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
      std::copy_n(from, kChannels, result.at(y, x));
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
      return transform_smoothly<2>(image, map, sampling.fill);
    case Filter::bicubic:
      return transform_smoothly<4>(image, map, sampling.fill);
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
