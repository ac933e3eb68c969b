// One picture of a data set and what is known of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/image.h"
#include "data/resize.h"

namespace fovea {

/// Around an object, in pixels: (0, 0) is the upper left corner of the image, (width, height) the
/// lower right one.
struct ObjectBox {
  float x0 = 0, y0 = 0, x1 = 0, y1 = 0;
  std::int64_t label = 0;

  [[nodiscard]] float width() const { return x1 - x0; }
  [[nodiscard]] float height() const { return y1 - y0; }
  friend bool operator==(const ObjectBox&, const ObjectBox&) = default;
};

/// A value for each pixel of the image: depth, the class of what stands there, whether another map
/// is valid there.
struct DenseMap {
  std::string name;  ///< of the batch's member
  Image values;      ///< as high and wide as the image, of any format
  /// How it is resized, turned and sheared: nearest keeps classes, masks and the edges of holes;
  /// bilinear suits values without holes.
  Filter filter = Filter::nearest;
  double outside = 0;  ///< its value beyond the image's edges

  friend bool operator==(const DenseMap&, const DenseMap&) = default;
};

/// What lies in the image and moves with its pixels. Nothing for a classifier.
struct ImageTargets {
  /// None: the data set has no boxes. An image without objects has an empty list.
  std::optional<std::vector<ObjectBox>> boxes{};
  std::vector<DenseMap> maps{};

  [[nodiscard]] bool empty() const { return !boxes && maps.empty(); }
  friend bool operator==(const ImageTargets&, const ImageTargets&) = default;
};

struct Sample {
  Image image;
  std::int64_t label = 0;
  ImageTargets targets{};
};

}  // namespace fovea
