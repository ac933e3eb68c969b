// The value of one pixel in one channel: looked up, or filled where a box is erased, then mixed.
#pragma once

#include <cstdint>

#include "ops/common/exact.h"
#include "ops/pixels/call.h"

namespace fovea::ops::pixels {

/// A position in [images, 3, height, width].
struct ImagePoint {
  std::int64_t image = 0, channel = 0, y = 0, x = 0;

  [[nodiscard]] FOVEA_HD bool is_in(const ImageBox& box) const {
    return y >= box.top && y < box.bottom && x >= box.left && x < box.right;
  }
};

/// The value before mixing: that of the last box over the pixel, or of its level.
FOVEA_HD inline float unmixed(const PixelsCall& c, const ImagePoint& at, std::uint8_t level) {
  for (std::int64_t i = c.boxes - 1; i >= 0; --i) {
    const ErasedBox& erased = c.erased[at.image * c.boxes + i];
    const ImageBox& box = erased.box;
    if (!at.is_in(box)) continue;
    const std::int64_t row = at.channel * (box.bottom - box.top) + at.y - box.top;
    const std::int64_t pixel = row * (box.right - box.left) + at.x - box.left;
    return c.fills[erased.first_fill + (erased.per_pixel != 0 ? pixel : at.channel)];
  }
  return c.levels[at.channel * PixelsCall::kLevels + level];
}

/// The value of a pixel, given its level and that at the same place of the image's partner.
FOVEA_HD inline float value(const PixelsCall& c, const ImagePoint& at, std::uint8_t level,
                            std::uint8_t partners) {
  const float own = unmixed(c, at, level);
  if (c.mixed == nullptr || !at.is_in(c.mixed[at.image].box)) return own;
  const float other =
      unmixed(c, ImagePoint{c.images - 1 - at.image, at.channel, at.y, at.x}, partners);
  if (c.mixed[at.image].replaces != 0) return other;
  const float* const weights = c.weights + 2 * at.image;
  return detail::exact::product(own, weights[0]) + detail::exact::product(other, weights[1]);
}

}  // namespace fovea::ops::pixels
