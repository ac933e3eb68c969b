// A batch as one picture: its images with the names of their classes and with boxes.
#pragma once

#include <string>
#include <vector>

#include "data/figures/boxes.h"
#include "data/geometry/transforms.h"
#include "data/image.h"
#include "engine/tensor.h"

namespace fovea {

struct ShownBatch {
  Tensor images;                               ///< f32 [B, 3, H, W], normalised
  std::vector<std::string> names{};            ///< of each image; empty: none
  std::vector<std::vector<ShownBox>> boxes{};  ///< of each image, in its pixels; empty: none
};

/// The images in rows of `columns`. Small ones with names or boxes are enlarged by a whole number,
/// so that these can be read.
[[nodiscard]] Image batch_sheet(const ShownBatch& batch, const Normalization& normalization,
                                std::int64_t columns = 8);

}  // namespace fovea
