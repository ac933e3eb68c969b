// viridis: eleven colours of S. van der Walt and N. Smith's map (matplotlib, CC0), linearly
// interpolated. Diverging: C. Brewer's RdBu in eleven classes (colorbrewer2.org), reversed.
#include "data/figures/colormap.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/base/error.h"
#include "engine/base/text.h"

namespace fovea {
namespace {

constexpr std::size_t kStops = 11;
using Stops = std::array<Rgb, kStops>;

constexpr Stops kViridis = {{{68, 1, 84},
                             {72, 36, 117},
                             {65, 68, 135},
                             {53, 95, 141},
                             {42, 120, 142},
                             {33, 145, 140},
                             {34, 168, 132},
                             {68, 191, 112},
                             {122, 209, 81},
                             {189, 223, 38},
                             {253, 231, 37}}};
constexpr Stops kDiverging = {{{5, 48, 97},
                               {33, 102, 172},
                               {67, 147, 195},
                               {146, 197, 222},
                               {209, 229, 240},
                               {247, 247, 247},
                               {253, 219, 199},
                               {244, 165, 130},
                               {214, 96, 77},
                               {178, 24, 43},
                               {103, 0, 31}}};
constexpr Rgb kUnknown = {128, 128, 128};

}  // namespace

Rgb color_at(Palette palette, double share) {
  if (std::isnan(share)) return kUnknown;
  const Stops& stops = palette == Palette::viridis ? kViridis : kDiverging;
  return color_between(stops, std::clamp(share, 0.0, 1.0) * (kStops - 1));
}

Rgb color_between(std::span<const Rgb> stops, double position) {
  const std::size_t i = std::min(static_cast<std::size_t>(position), stops.size() - 2);
  const double t = position - static_cast<double>(i);
  Rgb color{};
  for (std::size_t c = 0; c < color.size(); ++c) {
    color[c] = static_cast<std::uint8_t>(std::lround(stops[i][c] * (1 - t) + stops[i + 1][c] * t));
  }
  return color;
}

std::string hex(const Rgb& color) {
  return printf_text("#%02x%02x%02x", color[0], color[1], color[2]);
}

ColorRange range_of(std::span<const double> values) {
  ColorRange range{std::numeric_limits<double>::infinity(),
                   -std::numeric_limits<double>::infinity()};
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    range.low = std::min(range.low, value);
    range.high = std::max(range.high, value);
  }
  return range.low <= range.high ? range : ColorRange{};
}

ColorRange symmetric_range_of(std::span<const double> values) {
  const ColorRange range = range_of(values);
  const double most = std::max(std::abs(range.low), std::abs(range.high));
  return most > 0 ? ColorRange{-most, most} : ColorRange{-1, 1};
}

Image paint(const HeatMap& map, std::int64_t cell) {
  const auto count = static_cast<std::int64_t>(map.values.size());
  check(map.width >= 1 && count > 0 && count % map.width == 0, "paint: got ", count,
        " values in rows of ", map.width);
  Image image(count / map.width, map.width);
  for (std::int64_t i = 0; i < count; ++i) {
    const double share = map.range.share(map.values[static_cast<std::size_t>(i)]);
    const Rgb color = color_at(map.palette, share);
    std::copy(color.begin(), color.end(), image.at(i / map.width, i % map.width));
  }
  return cell > 1 ? enlarged(image, cell) : image;
}

Image enlarged(const Image& image, std::int64_t factor) {
  Image result(image.height * factor, image.width * factor);
  for (std::int64_t y = 0; y < result.height; ++y) {
    for (std::int64_t x = 0; x < result.width; ++x) {
      std::copy_n(image.at(y / factor, x / factor), Image::kChannels, result.at(y, x));
    }
  }
  return result;
}

}  // namespace fovea
