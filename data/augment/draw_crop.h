// Where the random crops of training lie, in timm's definitions.
#pragma once

#include "data/image.h"
#include "engine/rng.h"

namespace fovea {

/// Ranges of a random crop: share of the area, width / height.
struct CropRange {
  double scale_low = 0.08, scale_high = 1;
  double ratio_low = 3.0 / 4, ratio_high = 4.0 / 3;
};

/// The image's size at a random place in the image with `padding` pixels around it. Throws unless
/// padding >= 0.
[[nodiscard]] PixelBox draw_padded_crop(ImageSize image, std::int64_t padding, Rng& rng);

/// RandomResizedCrop's box: up to ten draws of area = U(scale) and ratio = exp(U(log ratio)), each
/// accepted where it fits; else the largest central box with a ratio in range. Throws unless
/// 0 < low <= high.
[[nodiscard]] PixelBox draw_resized_crop(ImageSize image, const CropRange& range, Rng& rng);

/// MAE's for linear probes: one draw, cut to the image's sides where it is larger.
[[nodiscard]] PixelBox draw_resized_crop_once(ImageSize image, const CropRange& range, Rng& rng);

/// ResizeKeepRatio's size: the image's, scaled to just cover `target`; in half of the cases scaled
/// so that U(scale) of its area is seen, in half of the cases with a ratio changed by
/// exp(U(log ratio)).
[[nodiscard]] ImageSize draw_kept_ratio(ImageSize image, ImageSize target, const CropRange& range,
                                        Rng& rng);

}  // namespace fovea
