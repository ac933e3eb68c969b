// Annotation files in PASCAL VOC's format: XML with one image's size and objects.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "data/image.h"

namespace fovea {

struct VocObject {
  std::string name{};
  double x = 0, y = 0, width = 0, height = 0;  ///< in pixels from the image's corner
  bool difficult = false;                      ///< written as 1 or, by Python's tools, True
};

struct VocFile {
  ImageSize size{};
  std::vector<VocObject> objects{};
};

/// Files count pixels from 1 and include both ends: xmin 1 and xmax 10 is a box from 0 to 10.
/// Throws Error, starting with `name`, on anything but such a file, on numbers that are not finite,
/// and on a document type, which could define entities that grow without bound; and if the build is
/// without pugixml.
[[nodiscard]] VocFile parse_voc(std::string_view xml, const std::string& name);

}  // namespace fovea
