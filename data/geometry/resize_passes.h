// The two passes of a separable resize of 8-bit images, with fixed-point weights. Private to
// data/.
#pragma once

#include <cstdint>
#include <vector>

#include "data/image.h"

namespace fovea {

inline constexpr int kWeightBits = 22;  ///< fractional bits of a weight

/// Output i = sum over k of values[i * taps + k] * source[first[i] + k], k < count[i].
template <class T>
struct WeightsOf {
  std::vector<std::int64_t> first, count;
  std::vector<T> values;
  std::int64_t taps = 0;
};
using AxisWeights = WeightsOf<double>;
using ResizeWeights = WeightsOf<std::int32_t>;

/// The weights of both passes. An axis without weights is not resized.
struct ResizePasses {
  const AxisWeights *rows = nullptr, *columns = nullptr;
  bool vertical_first = false;  ///< otherwise horizontal first; the order affects rounding
};

/// The weights rounded to kWeightBits.
[[nodiscard]] ResizeWeights fixed_point(const AxisWeights& weights);

/// For 8-bit images. Rounds half up to 8 bits and clips. Bit-identical on every machine.
[[nodiscard]] Image resize_horizontally(const Image& image, const ResizeWeights& weights);
[[nodiscard]] Image resize_vertically(const Image& image, const ResizeWeights& weights);

}  // namespace fovea
