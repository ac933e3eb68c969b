// JPEG files of ImageNet's typical size for the loader benchmark.
#pragma once

#include <filesystem>

namespace fovea::bench {

/// A folder with a data set of class folders in jpeg/ and the same images as pixels in pack/, made
/// from $FOVEA_DATA/imagefolder-mini: photographs with a short side of 375 pixels, quality 92. It
/// is made once and removed at the end of the program. Empty if there are no photographs.
[[nodiscard]] std::filesystem::path photographs();

}  // namespace fovea::bench
