// Numbers as colours that colour-blind readers can order: viridis for amounts, blue-white-red for
// what has a sign.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "data/image.h"

namespace fovea {

using Rgb = std::array<std::uint8_t, 3>;

enum class Palette {
  viridis,    ///< dark blue over green to yellow; lightness rises all the way
  diverging,  ///< blue, white in the middle, red; the ends differ in hue, both are dark
};

/// The colour at `share` of the palette, 0 to 1 (clamped; NaN is grey).
[[nodiscard]] Rgb color_at(Palette palette, double share);
/// "#rrggbb".
[[nodiscard]] std::string hex(const Rgb& color);

/// The values that the two ends of a palette stand for.
struct ColorRange {
  double low = 0, high = 1;
  /// 0 where the ends meet.
  [[nodiscard]] double share(double value) const {
    return high > low ? (value - low) / (high - low) : 0;
  }
};

/// From the least to the greatest finite value.
[[nodiscard]] ColorRange range_of(std::span<const double> values);
/// From -m to m, m the greatest finite magnitude.
[[nodiscard]] ColorRange symmetric_range_of(std::span<const double> values);

/// A heat map, `width` values a row.
struct HeatMap {
  std::span<const double> values;
  std::int64_t width = 1;
  ColorRange range{};
  Palette palette = Palette::viridis;
};
/// Each value a square of `cell` x `cell` pixels.
[[nodiscard]] Image paint(const HeatMap& map, std::int64_t cell = 1);
/// Every pixel `factor` times in both directions.
[[nodiscard]] Image enlarged(const Image& image, std::int64_t factor);

}  // namespace fovea
