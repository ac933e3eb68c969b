// The values of f64 that are not finite.
#pragma once

#include <limits>

namespace fovea {

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

}  // namespace fovea
