// Colour operations that depend on single pixel values or a channel's histogram: Pillow's ImageOps
// and ImageEnhance, bit for bit.
#pragma once

#include "data/image.h"

namespace fovea {

// ImageEnhance: degenerate + factor (image - degenerate), clipped and truncated. Factor 1
// is the identity, 0 gives the degenerate image. Each throws unless the factor is finite.
[[nodiscard]] Image adjust_saturation(const Image& image, double factor);  ///< from gray ("Color")
[[nodiscard]] Image adjust_contrast(const Image& image, double factor);    ///< from the mean gray
[[nodiscard]] Image adjust_brightness(const Image& image, double factor);  ///< from black
[[nodiscard]] Image adjust_sharpness(const Image& image, double factor);   ///< from a 3 x 3 blur
/// Rotates the hue by `factor` of the circle, in 8-bit HSV. Throws unless -0.5 <= factor <= 0.5.
[[nodiscard]] Image adjust_hue(const Image& image, double factor);

/// Luma (19595 R + 38470 G + 7471 B + 2^15) / 2^16 in all channels.
[[nodiscard]] Image grayscale(const Image& image);

/// Stretches each channel to the range 0 .. 255.
[[nodiscard]] Image auto_contrast(const Image& image);
/// Equalizes each channel's histogram.
[[nodiscard]] Image equalize(const Image& image);
[[nodiscard]] Image invert(const Image& image);
/// Keeps the `bits` highest bits: all for 8 or more, none for 0 or fewer.
[[nodiscard]] Image posterize(const Image& image, int bits);
/// Inverts values >= threshold.
[[nodiscard]] Image solarize(const Image& image, int threshold);
/// Adds `addend` to values < 128, saturating at 255. Throws unless addend >= 0.
[[nodiscard]] Image solarize_add(const Image& image, int addend);

/// Pillow's Image.blend: a + share (b - a) in f32, truncated; clipped for shares outside of 0 ..
/// 1. Throws unless both images have the same size.
[[nodiscard]] Image blend(const Image& a, const Image& b, double share);

}  // namespace fovea
