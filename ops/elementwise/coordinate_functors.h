// Random moves of coordinates as a host and device functor.
#pragma once

#include <cstdint>

#include "ops/common/math.h"
#include "ops/elementwise/dropout_functors.h"

namespace fovea::ops::detail {

struct MoveCoordinate {  // y = (x + shift u) exp(jitter v + rescale w); u, v, w the same for all x
  static constexpr bool kIndexed = true;
  KernelKey key;
  std::int64_t axis;  ///< u and v are its own, w is that of all axes
  double shift, jitter, rescale;
  [[nodiscard]] FOVEA_HD MoveCoordinate at_step() const {
    return {resolved(key), axis, shift, jitter, rescale};
  }
  template <class T>
  FOVEA_HD T operator()(std::int64_t /*index*/, T x) const {
    const double shifted = static_cast<double>(x) + shift * drawn(axis);
    return static_cast<T>(shifted * math::exp(jitter * drawn(2 + axis) + rescale * drawn(4)));
  }
  /// Uniform in [-1, 1).
  [[nodiscard]] FOVEA_HD double drawn(std::int64_t index) const {
    return 2.0 * uniform_at({key.seed, key.stream}, index) - 1;
  }
};

using CoordinateFunctors = TypeList<MoveCoordinate>;

}  // namespace fovea::ops::detail
