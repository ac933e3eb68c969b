// Affine maps of images other than 8-bit RGB. Private to data/.
#pragma once

#include "data/augment/affine.h"

namespace fovea {

/// `background` has the size and format of the image: the pixels where the map leaves the image.
[[nodiscard]] Image transform_values(const Image& image, const AffineMap& map, Filter filter,
                                     Image background);

}  // namespace fovea
