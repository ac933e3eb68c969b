// Random erasing (Zhong et al. 2020) of normalised images, as in timm.
#pragma once

#include <span>
#include <vector>

#include "data/image.h"
#include "engine/base/names.h"
#include "engine/rng.h"

namespace fovea {

enum class EraseFill {
  constant,  ///< 0: the mean colour
  random,    ///< one N(0, 1) colour per box
  pixel,     ///< N(0, 1) for every value
};
template <>
inline constexpr auto kNames<EraseFill> = std::to_array<Named<EraseFill>>(
    {{EraseFill::constant, "const"}, {EraseFill::random, "rand"}, {EraseFill::pixel, "pixel"}});

struct EraseOptions {
  double probability = 0;  ///< probability of erasing in an image
  EraseFill fill = EraseFill::pixel;
  std::int64_t count = 1;                       ///< maximum number of boxes; drawn uniformly from 1
  double area_low = 0.02, area_high = 1.0 / 3;  ///< share of the image, all boxes together
  double ratio_low = 0.3, ratio_high = 1 / 0.3;  ///< height / width
};

/// A box of an image, and what it is filled with: see erase_box().
struct Erasure {
  PixelBox box;
  std::vector<float> fill;
};

/// A box of round(sqrt(area * ratio)) x round(sqrt(area / ratio)).
[[nodiscard]] ImageSize erased_size(double area, double ratio);

/// A box smaller than the image in both directions; empty if ten draws found none. `boxes` is the
/// number of boxes that share the area.
[[nodiscard]] PixelBox draw_erased_box(const EraseOptions& options, ImageSize image,
                                       std::int64_t boxes, Rng& rng);

/// Overwrites the box in f32 [3, height, width]. `fill` has 3 values, or 3 for each pixel.
void erase_box(float* values, ImageSize image, const PixelBox& box, std::span<const float> fill);

/// The boxes to erase in an image, in this order: often none. Throws on options out of range.
[[nodiscard]] std::vector<Erasure> draw_erasures(const EraseOptions& options, ImageSize image,
                                                 Rng& rng);

}  // namespace fovea
