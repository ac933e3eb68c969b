// A look at the EXIF orientations of a data set before a run.
#pragma once

#include <string>

#include "data/dataset.h"

namespace fovea {

/// A notice with the count if some of up to 64 pictures, evenly spread over the set, are turned by
/// their EXIF data, which is ignored: boxes and maps may be drawn on the turned pictures. "" if
/// none are. `what` names the pictures in it.
[[nodiscard]] std::string orientation_notice(const Dataset& images,
                                             const std::string& what = "images");

/// The cause for a picture whose boxes or map belong to another size, as the end of a message: its
/// EXIF orientation, if that explains it; otherwise "". `found` is its size as the set shows it.
[[nodiscard]] std::string orientation_cause(const Dataset& images, std::int64_t index,
                                            ImageSize found, ImageSize expected);

}  // namespace fovea
