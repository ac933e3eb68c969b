// The two passes of a separable resize, over 8-bit images with weights in fixed point. Private to
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

/// What a resize is made of. An axis without weights stays as it is.
struct ResizePasses {
  const AxisWeights *rows = nullptr, *columns = nullptr;
  bool vertical_first = false;  ///< otherwise horizontally first; rounding tells them apart
};

/// Rounded to kWeightBits.
[[nodiscard]] ResizeWeights fixed_point(const AxisWeights& weights);

/// Of 8-bit images. Rounded to 8 bits, half up, and clipped. The same bits on every machine.
[[nodiscard]] Image resize_horizontally(const Image& image, const ResizeWeights& weights);
[[nodiscard]] Image resize_vertically(const Image& image, const ResizeWeights& weights);

}  // namespace fovea
