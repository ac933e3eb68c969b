// Changes of an image's colours that look at each pixel's value alone, or at its channel's
// histogram: Pillow's ImageOps and ImageEnhance, bit for bit.
#pragma once

#include "data/image.h"

namespace fovea {

// ImageEnhance: degenerate + factor (image - degenerate), clipped and truncated. Factor 1 changes
// nothing, 0 gives the degenerate image. Each throws unless the factor is finite.
[[nodiscard]] Image adjust_saturation(const Image& image, double factor);  ///< from gray ("Color")
[[nodiscard]] Image adjust_contrast(const Image& image, double factor);    ///< from the mean gray
[[nodiscard]] Image adjust_brightness(const Image& image, double factor);  ///< from black
[[nodiscard]] Image adjust_sharpness(const Image& image, double factor);   ///< from a 3 x 3 blur
/// Turns the hue by `factor` of the circle, through 8-bit HSV. Throws unless -0.5 <= factor <= 0.5.
[[nodiscard]] Image adjust_hue(const Image& image, double factor);

/// Luma (19595 R + 38470 G + 7471 B + 2^15) / 2^16 in all channels.
[[nodiscard]] Image grayscale(const Image& image);

/// Stretches every channel to 0 .. 255.
[[nodiscard]] Image auto_contrast(const Image& image);
/// Spreads every channel's histogram evenly.
[[nodiscard]] Image equalize(const Image& image);
[[nodiscard]] Image invert(const Image& image);
/// Keeps the `bits` highest bits; 8 or more: all, 0 or fewer: none.
[[nodiscard]] Image posterize(const Image& image, int bits);
/// Inverts values >= threshold.
[[nodiscard]] Image solarize(const Image& image, int threshold);
/// Adds to values < 128, up to 255. Throws unless addend >= 0.
[[nodiscard]] Image solarize_add(const Image& image, int addend);

/// a + share (b - a) in f32, truncated; beyond 0 .. 1 also clipped: Pillow's Image.blend. Throws
/// unless both have one size.
[[nodiscard]] Image blend(const Image& a, const Image& b, double share);

}  // namespace fovea
