// JPEG files of ImageNet's usual size for the loader's benchmark.
#pragma once

#include <filesystem>

namespace fovea::bench {

/// A folder with a data set of class folders in jpeg/ and the same as pixels in pack/, made from
/// $FOVEA_DATA/imagefolder-mini: photographs with a short side of 375 pixels, quality 92. It is
/// made once and removed at the end of the program. Empty where there are no photographs.
[[nodiscard]] std::filesystem::path photographs();

}  // namespace fovea::bench
