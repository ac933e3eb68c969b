// --train-img-sizes: training images of another size than the model's, epoch by epoch.
#pragma once

#include <string>

#include "data/image.h"
#include "models/model.h"
#include "settings/config.h"

namespace fovea {

/// Of the training images of an epoch: the side that the schedule says, or `usual` without one. A
/// function of (seed, epoch).
[[nodiscard]] ImageSize training_size(const TrainConfig& config, ImageSize usual,
                                      std::int64_t epoch);

/// Shows `model` an image of each size: better now than epochs later. Throws UsageError naming
/// `who` where it cannot take one.
void try_training_sizes(const TrainConfig& config, Model& model, const std::string& who);

}  // namespace fovea
