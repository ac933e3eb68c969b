// Random crop boxes for training, by timm's definitions.
#pragma once

#include "data/image.h"
#include "engine/rng.h"

namespace fovea {

/// Ranges of a random crop: share of the area, and width / height.
struct CropRange {
  double scale_low = 0.08, scale_high = 1;
  double ratio_low = 3.0 / 4, ratio_high = 4.0 / 3;
};

/// A box of the image's size at a random position in the image padded by `padding` pixels. Throws
/// unless padding >= 0.
[[nodiscard]] PixelBox draw_padded_crop(ImageSize image, std::int64_t padding, Rng& rng);

/// The box of RandomResizedCrop: up to ten draws of area = U(scale) and ratio = exp(U(log ratio)),
/// of which the first that fits is used; otherwise the largest central box with a ratio in range.
/// Throws unless 0 < low <= high.
[[nodiscard]] PixelBox draw_resized_crop(ImageSize image, const CropRange& range, Rng& rng);

/// The variant of MAE's linear probing: one draw, clipped to the image's sides.
[[nodiscard]] PixelBox draw_resized_crop_once(ImageSize image, const CropRange& range, Rng& rng);

/// The size of ResizeKeepRatio: the image's, scaled to just cover `target`. With probability 1/2
/// it is scaled so that U(scale) of its area is visible, and with probability 1/2 the ratio is
/// changed by exp(U(log ratio)).
[[nodiscard]] ImageSize draw_kept_ratio(ImageSize image, ImageSize target, const CropRange& range,
                                        Rng& rng);

}  // namespace fovea
