// Conversion of computed numbers to pixel values. Private to data/.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

namespace fovea {

/// Integer types are rounded half up and clipped.
template <class T>
[[nodiscard]] T pixel_value(double value) {
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(value);
  } else {
    constexpr double most = std::numeric_limits<T>::max();
    return static_cast<T>(std::clamp(std::floor(value + 0.5), 0.0, most));
  }
}

}  // namespace fovea
