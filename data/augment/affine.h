// Affine maps of images as Pillow's Image.transform computes them: of 8-bit RGB bit for bit.
#pragma once

#include <cstdint>

#include "data/image.h"
#include "data/resize.h"
#include "data/transforms.h"

namespace fovea {

/// Where output pixels come from: (x, y) -> (xx x + xy y + x0, yx x + yy y + y0), in pixels, at
/// their centres.
struct AffineMap {
  double xx = 1, xy = 0, x0 = 0;
  double yx = 0, yy = 1, y0 = 0;
};

/// How pixels between pixels are read, and what stands where the map leaves the image.
struct Sampling {
  Filter filter = Filter::bicubic;  ///< nearest, bilinear or bicubic (here with a = -1)
  Color8 fill{};
};

/// An image of the same size. Nothing is antialiased. Throws on other filters.
[[nodiscard]] Image transform(const Image& image, const AffineMap& map, const Sampling& sampling);
/// The same of any format; `fill` is a pixel of it. Values that are not bytes are interpolated in
/// f64, and rounded where they are whole.
[[nodiscard]] Image transform(const Image& image, const AffineMap& map, Filter filter,
                              PixelBytes fill);

}  // namespace fovea
