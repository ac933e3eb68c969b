// A sample: one image of a data set with its label and targets.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/geometry/resize.h"
#include "data/image.h"

namespace fovea {

/// A bounding box in pixels: (0, 0) is the upper left corner of the image, (width, height) the
/// lower right one.
struct ObjectBox {
  float x0 = 0, y0 = 0, x1 = 0, y1 = 0;
  std::int64_t label = 0;

  [[nodiscard]] float width() const { return x1 - x0; }
  [[nodiscard]] float height() const { return y1 - y0; }
  friend bool operator==(const ObjectBox&, const ObjectBox&) = default;
};

/// One value per pixel: depth, a segmentation class, or the validity of another map.
struct DenseMap {
  std::string name;  ///< name of the batch member
  Image values;      ///< values in any format, with the image's height and width
  /// The filter for resizing, rotating and shearing: nearest preserves classes, masks and the
  /// edges of holes; bilinear suits continuous values without holes.
  Filter filter = Filter::nearest;
  double outside = 0;  ///< value beyond the image's edges

  friend bool operator==(const DenseMap&, const DenseMap&) = default;
};

/// Targets that move with the pixels of the image. Empty for a classifier.
struct ImageTargets {
  /// Not set: the data set has no boxes. An image without objects has an empty list.
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
