// Affine maps of images that are not 8-bit RGB. Private to data/.
#pragma once

#include "data/augment/affine.h"

namespace fovea {

/// `background` has the image's size and format: what stands where the map leaves the image.
[[nodiscard]] Image transform_values(const Image& image, const AffineMap& map, Filter filter,
                                     Image background);

}  // namespace fovea
