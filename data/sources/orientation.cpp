// Reads the EXIF data of some files, without their pixels.
#include "data/sources/orientation.h"

#include <algorithm>

#include "data/codecs/exif.h"
#include "engine/base/error.h"
#include "engine/base/text.h"

namespace fovea {
namespace {

/// Whether the picture is stored in another orientation than displayed. One that cannot be read is
/// reported when its pixels are needed.
bool is_turned(const Dataset& images, std::int64_t index) {
  try {
    const std::optional<std::string> file = images.file(index);
    return file && exif_orientation(as_u8(*file)) != 1;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

std::string orientation_notice(const Dataset& images, const std::string& what) {
  constexpr std::int64_t most = 64;
  if (images.exif_orientation() == ExifOrientation::apply) return {};
  const std::int64_t looked_at = std::min(images.size(), most);
  std::int64_t turned = 0;
  for (std::int64_t i = 0; i < looked_at; ++i)
    turned += is_turned(images, i * images.size() / looked_at) ? 1 : 0;
  if (turned == 0) return {};
  return concat(turned, " of ", looked_at, looked_at < images.size() ? " sampled " : " ", what,
                turned == 1 ? " ignores" : " ignore", " EXIF rotation (--exif-orientation)");
}

std::string orientation_cause(const Dataset& images, std::int64_t index, ImageSize found,
                              ImageSize expected) {
  const int orientation = exif_orientation(as_u8(images.file(index).value_or("")));
  if (found == expected || displayed_size(found, orientation) != expected) return {};
  const bool turns = images.exif_orientation() == ExifOrientation::apply;
  return concat("; its EXIF orientation is ", orientation, ", which exchanges the sides: ",
                turns ? "--exif-orientation ignore leaves it as stored"
                      : "--exif-orientation apply turns it");
}

}  // namespace fovea
