// Colour maps that colour-blind readers can order: viridis for magnitudes, blue-white-red for
// signed values.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "data/image.h"

namespace fovea {

using Rgb = std::array<std::uint8_t, 3>;

enum class Palette {
  viridis,    ///< dark blue through green to yellow, with steadily rising lightness
  diverging,  ///< blue, white, red; the ends differ in hue and are both dark
};

/// The colour at `share` of the palette, from 0 to 1 (clamped; NaN is grey).
[[nodiscard]] Rgb color_at(Palette palette, double share);
/// The colour at `position` between stops: 0 for the first, stops.size() - 1 for the last.
[[nodiscard]] Rgb color_between(std::span<const Rgb> stops, double position);
/// "#rrggbb".
[[nodiscard]] std::string hex(const Rgb& color);

/// The values at the two ends of a palette.
struct ColorRange {
  double low = 0, high = 1;
  /// The position of a value in the range; 0 for an empty range.
  [[nodiscard]] double share(double value) const {
    return high > low ? (value - low) / (high - low) : 0;
  }
};

/// From the smallest to the largest finite value.
[[nodiscard]] ColorRange range_of(std::span<const double> values);
/// From -m to m, where m is the largest finite magnitude.
[[nodiscard]] ColorRange symmetric_range_of(std::span<const double> values);

/// A heat map with `width` values per row.
struct HeatMap {
  std::span<const double> values;
  std::int64_t width = 1;
  ColorRange range{};
  Palette palette = Palette::viridis;
};
/// Draws each value as a square of `cell` x `cell` pixels.
[[nodiscard]] Image paint(const HeatMap& map, std::int64_t cell = 1);
/// Repeats every pixel `factor` times in both directions.
[[nodiscard]] Image enlarged(const Image& image, std::int64_t factor);

}  // namespace fovea
