// Rotating, shearing and shifting 8-bit images as Pillow's Image.transform does it, bit for bit.
#pragma once

#include <array>
#include <cstdint>

#include "data/image.h"
#include "data/resize.h"

namespace fovea {

using Color8 = std::array<std::uint8_t, Image::kChannels>;

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

/// Counter-clockwise about the centre.
[[nodiscard]] Image rotate(const Image& image, double degrees, const Sampling& sampling);
/// Row y is read from `factor * y` pixels further right.
[[nodiscard]] Image shear_x(const Image& image, double factor, const Sampling& sampling);
/// Column x is read from `factor * x` pixels further down.
[[nodiscard]] Image shear_y(const Image& image, double factor, const Sampling& sampling);
/// Reads `right` pixels further right and `down` pixels further down.
[[nodiscard]] Image translate(const Image& image, double right, double down,
                              const Sampling& sampling);

}  // namespace fovea
