// Bilinear interpolation at a location of a map, for host and device.
#pragma once

#include <cstdint>

#include "engine/device.h"

namespace fovea::ops::detail {

/// A cell of the map in the sum that interpolates at (x, y): the value is the sum of share times
/// the cell's value; slope_x and slope_y are the share's derivatives in cells.
template <class A>
struct Cell {
  std::int64_t index;
  A share, slope_x, slope_y;
};

/// A location between the centres of four cells, some of which may be outside the map.
template <class A>
struct SamplePoint {
  std::int64_t x = -2, y = -2;  ///< the cell on the left above; -2: all four are outside
  A right = 0, down = 0;        ///< distance from its centre, in [0, 1)

  /// location: (x, y) relative to the map.
  [[gnu::always_inline]] FOVEA_HD SamplePoint(const A* location, std::int64_t height,
                                              std::int64_t width) {
    const A across = location[0] * static_cast<A>(width) - A(0.5);
    const A along = location[1] * static_cast<A>(height) - A(0.5);
    if (across != across || along != along) {  // NOLINT: NaN, which the first cell passes on
      x = y = -1;
      right = down = across + along;
      return;
    }
    if (across <= A(-1) || across >= static_cast<A>(width)) return;
    if (along <= A(-1) || along >= static_cast<A>(height)) return;
    x = floor_of(across);
    y = floor_of(along);
    right = across - static_cast<A>(x);
    down = along - static_cast<A>(y);
  }

  /// Calls visit(cell) for those of the four cells that are in the map, row by row.
  template <class Visit>
  [[gnu::always_inline]] FOVEA_HD void for_each_cell(std::int64_t height, std::int64_t width,
                                                     const Visit& visit) const {
    for (int i = 0; i < 4; ++i) {
      const bool is_right = i % 2 == 1, is_low = i / 2 == 1;
      const std::int64_t column = x + is_right, row = y + is_low;
      if (column < 0 || column >= width || row < 0 || row >= height) continue;
      const A across = is_right ? right : A(1) - right, along = is_low ? down : A(1) - down;
      visit(Cell<A>{row * width + column, across * along, is_right ? along : -along,
                    is_low ? across : -across});
    }
  }

 private:
  [[gnu::always_inline]] FOVEA_HD static std::int64_t floor_of(A v) {
    const auto whole = static_cast<std::int64_t>(v);
    return v < static_cast<A>(whole) ? whole - 1 : whole;
  }
};

}  // namespace fovea::ops::detail
