// Geometric image operations as data, so that boxes and dense maps can follow them.
#pragma once

#include <variant>
#include <vector>

#include "data/augment/affine.h"
#include "data/geometry/transforms.h"
#include "data/sample.h"

namespace fovea {

namespace geometry {

/// Crops to the box. Dense maps are padded like the image, with `outside` for constant padding;
/// regions made by reflect and edge padding contain no boxes.
struct Crop {
  PixelBox box;
  Padding padding = Padding::constant;
  Color8 fill{};  ///< fill colour of 8-bit RGB; zeros in other formats
};
/// Dense maps are resized with their own filter.
struct Resize {
  ImageSize size;
  Filter filter = Filter::bicubic;
};
struct Flip {
  bool vertical = false;
};
/// Rotates counter-clockwise by multiples of 90 degrees; odd multiples require a square image.
struct Turn {
  int quarters = 0;
};
/// Applies transform(). Dense maps are sampled with their own filter.
struct AffineWarp {
  AffineMap map;
  Sampling sampling;
};

}  // namespace geometry

using Geometry = std::variant<geometry::Crop, geometry::Resize, geometry::Flip, geometry::Turn,
                              geometry::AffineWarp>;

/// A counter-clockwise rotation about the centre. Throws unless the angle is finite.
[[nodiscard]] Geometry rotation(ImageSize size, double degrees, const Sampling& sampling);
/// Row y is read `factor * y` pixels further right.
[[nodiscard]] Geometry shear_x(double factor, const Sampling& sampling);
/// Column x is read `factor * x` pixels further down.
[[nodiscard]] Geometry shear_y(double factor, const Sampling& sampling);
/// Reads `right` pixels further right and `down` pixels further down.
[[nodiscard]] Geometry translation(double right, double down, const Sampling& sampling);

/// The output size for an input of this size.
[[nodiscard]] ImageSize moved_size(const Geometry& move, ImageSize from);

[[nodiscard]] Image moved(Image image, const Geometry& move);
/// The box after the move; after an affine map, the bounding box of its four corners. It may
/// extend beyond the image, and is empty after a degenerate map.
[[nodiscard]] ObjectBox moved(const ObjectBox& box, const Geometry& move, ImageSize from);
[[nodiscard]] DenseMap moved(DenseMap map, const Geometry& move);

/// Boxes are clipped to the image when they are moved; boxes with a side below this many pixels
/// are dropped.
inline constexpr float kMinBoxSide = 1;

/// The boxes and maps of an image of size `from` after the move, without the image itself.
[[nodiscard]] ImageTargets moved(ImageTargets targets, const Geometry& move, ImageSize from);
/// Moves the image with all its targets.
[[nodiscard]] Sample moved(Sample sample, const Geometry& move);
/// Applies the moves in order. Of a resize before a crop only the part that the crop shows is
/// computed: a long picture is enlarged to far more pixels than memory holds.
[[nodiscard]] Sample moved(Sample sample, const std::vector<Geometry>& moves);

}  // namespace fovea
