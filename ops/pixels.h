// From pixels to values: what a loader may leave to the device of the model.
#pragma once

#include "engine/tensor.h"

namespace fovea::ops {

/// What is done to pixels, in this order. Boxes are rows [top, bottom) and columns [left, right) of
/// an image and must lie inside it.
struct PixelFinish {
  Tensor levels;  ///< f32 [3, 256]: the value of each level of each channel
  /// i64 [B, M, 6]: boxes of each image that are overwritten, one after the other. Each: top,
  /// bottom, left, right; the position of its first value in `fills`; 1 if there is a value for
  /// each pixel, [3, rows, columns], 0 if one for each channel. Empty boxes have no effect.
  Tensor erased;
  Tensor fills;  ///< f32 [F]
  /// Optional, i64 [B, 5]: the box where image b is mixed with image B - 1 - b as it was before:
  /// top, bottom, left, right; 1 if the other one replaces it, 0 if the two are blended.
  Tensor mixed{};
  Tensor weights{};  ///< f32 [B, 2]: factors of the image and of the other one
};

/// The values of pixels, f32 [B, 3, H, W] from u8 of that shape. Not recorded on the tape.
/// Products and their sum are rounded one by one: the bits are the same on every device.
[[nodiscard]] Tensor finish_pixels(const Tensor& pixels, const PixelFinish& finish);

}  // namespace fovea::ops
