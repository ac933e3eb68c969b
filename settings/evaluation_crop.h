// How images are brought to a model's size in evaluation, as checkpoints and flags say it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "data/transforms.h"

namespace fovea {

/// timm's crop_pct, crop_mode and interpolation.
struct EvaluationCrop {
  double crop_pct = 0.875;  ///< share of the image's shorter side that is seen; in (0, 1]
  CropMode mode = CropMode::automatic;
  Filter filter = Filter::bicubic;
};

[[nodiscard]] EvaluationOptions evaluation_options(ImageSize size, const Normalization& colors,
                                                   const EvaluationCrop& crop);

/// "automatic", "center", "squash", "border".
[[nodiscard]] const std::vector<std::string>& crop_mode_names();
/// Throws on any other name, with the nearest of them.
[[nodiscard]] CropMode parse_crop_mode(std::string_view name);
[[nodiscard]] std::string name_of(CropMode mode);
[[nodiscard]] std::string name_of(Filter filter);

}  // namespace fovea
