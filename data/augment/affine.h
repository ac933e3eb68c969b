// Affine maps of images as in Pillow's Image.transform: bit-identical for 8-bit RGB.
#pragma once

#include <cstdint>

#include "data/geometry/resize.h"
#include "data/geometry/transforms.h"
#include "data/image.h"

namespace fovea {

/// Maps output pixels to source positions: (x, y) -> (xx x + xy y + x0, yx x + yy y + y0), in
/// pixels, at pixel centres.
struct AffineMap {
  double xx = 1, xy = 0, x0 = 0;
  double yx = 0, yy = 1, y0 = 0;
};

/// Interpolation, and the colour outside of the source image.
struct Sampling {
  Filter filter = Filter::bicubic;  ///< nearest, bilinear or bicubic (with a = -1 here)
  Color8 fill{};
};

/// Returns an image of the same size, without antialiasing. Throws on other filters.
[[nodiscard]] Image transform(const Image& image, const AffineMap& map, const Sampling& sampling);
/// The same for any format; `fill` is a pixel in that format. Non-byte values are interpolated in
/// f64, and rounded for integer formats.
[[nodiscard]] Image transform(const Image& image, const AffineMap& map, Filter filter,
                              PixelBytes fill);

}  // namespace fovea
