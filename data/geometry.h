// What moves the pixels of an image, as data: so that boxes and dense maps follow them.
#pragma once

#include <variant>

#include "data/augment/affine.h"
#include "data/sample.h"
#include "data/transforms.h"

namespace fovea {

namespace geometry {

/// The part inside the box. Dense maps are padded as the image is, constant padding being their
/// `outside`; what reflect and edge repeat has no boxes.
struct Crop {
  PixelBox box;
  Padding padding = Padding::constant;
  Color8 fill{};  ///< of 8-bit RGB; other formats: zeros
};
/// Dense maps are resized by their own filter.
struct Resize {
  ImageSize size;
  Filter filter = Filter::bicubic;
};
struct Flip {
  bool vertical = false;
};
/// Counter-clockwise, so many times 90 degrees; a quarter only of a square image.
struct Turn {
  int quarters = 0;
};
/// transform(). Dense maps are sampled by their own filter.
struct Affine {
  AffineMap map;
  Sampling sampling;
};

}  // namespace geometry

using Geometry = std::variant<geometry::Crop, geometry::Resize, geometry::Flip, geometry::Turn,
                              geometry::Affine>;

/// Counter-clockwise about the centre. Throws unless the angle is finite.
[[nodiscard]] Geometry rotation(ImageSize size, double degrees, const Sampling& sampling);
/// Row y is read from `factor * y` pixels further right.
[[nodiscard]] Geometry shear_x(double factor, const Sampling& sampling);
/// Column x is read from `factor * x` pixels further down.
[[nodiscard]] Geometry shear_y(double factor, const Sampling& sampling);
/// Reads `right` pixels further right and `down` pixels further down.
[[nodiscard]] Geometry translation(double right, double down, const Sampling& sampling);

/// The size of the result, from an image of this size.
[[nodiscard]] ImageSize moved_size(const Geometry& move, ImageSize from);

[[nodiscard]] Image moved(Image image, const Geometry& move);
/// Where the box comes to: after an affine map, what bounds its four corners. It may lie beyond the
/// image, and is empty after a map that takes everything from one line.
[[nodiscard]] ObjectBox moved(const ObjectBox& box, const Geometry& move, ImageSize from);
[[nodiscard]] DenseMap moved(DenseMap map, const Geometry& move);

/// Boxes smaller than this on one side, in pixels, are dropped when they are moved: what is left of
/// them is cut off at the edges of the image before.
inline constexpr float kLeastBoxSide = 1;

/// Boxes and maps of an image of this size, which is moved itself.
[[nodiscard]] ImageTargets moved(ImageTargets targets, const Geometry& move, ImageSize from);
/// The image with all that lies in it.
[[nodiscard]] Sample moved(Sample sample, const Geometry& move);

}  // namespace fovea
