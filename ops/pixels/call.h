// Arguments of the kernel that turns pixels into values.
#pragma once

#include <cstdint>

#include "engine/device.h"
#include "engine/kernel.h"

namespace fovea::ops {

struct ImageBox {
  std::int64_t top, bottom, left, right;
};
/// Six numbers of PixelFinish::erased.
struct ErasedBox {
  ImageBox box;
  std::int64_t first_fill, per_pixel;
};
/// Five numbers of PixelFinish::mixed.
struct MixedBox {
  ImageBox box;
  std::int64_t replaces;
};

/// values [images, 3, height, width] from pixels of that shape.
struct PixelsCall {
  static constexpr std::int64_t kChannels = 3, kLevels = 256;

  std::int64_t images = 0, height = 0, width = 0;
  const std::uint8_t* pixels = nullptr;
  const float* levels = nullptr;  ///< [kChannels, kLevels]
  std::int64_t boxes = 0;         ///< of each image
  const ErasedBox* erased = nullptr;
  const float* fills = nullptr;
  const MixedBox* mixed = nullptr;  ///< optional
  const float* weights = nullptr;   ///< with `mixed`: [images, 2]
  float* values = nullptr;

  /// Values of one image.
  [[nodiscard]] FOVEA_HD std::int64_t image_size() const { return kChannels * height * width; }
  /// From a position in an image to that in the image with which it is mixed.
  [[nodiscard]] FOVEA_HD std::int64_t to_partner(std::int64_t image) const {
    return (images - 1 - 2 * image) * image_size();
  }
};

struct PixelsKernels {
  Kernel<PixelsCall> finish;
};

}  // namespace fovea::ops
