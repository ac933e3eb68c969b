// Elementwise loss terms and their derivatives, for host and device.
#pragma once

#include "ops/common/math.h"

namespace fovea::ops::detail {

struct SquaredError {
  template <class T>
  FOVEA_HD static T value(T x, T t) {
    return (x - t) * (x - t);
  }
  template <class T>
  FOVEA_HD static T slope(T x, T t) {
    return T(2) * (x - t);
  }
};

/// -t log sigmoid(x) - (1 - t) log(1 - sigmoid(x)) = softplus(x) - x t.
struct BinaryCrossEntropy {
  template <class T>
  FOVEA_HD static T value(T x, T t) {
    const T positive = x < T(0) ? T(0) : x;
    return (positive - x * t) + math::log1p_unit(math::exp(-math::abs(x)));
  }
  template <class T>
  FOVEA_HD static T slope(T x, T t) {
    return math::sigmoid(x) - t;
  }
};

}  // namespace fovea::ops::detail
