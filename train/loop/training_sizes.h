// --train-img-sizes: training images of another size than the model's, epoch by epoch.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/image.h"
#include "models/model.h"
#include "settings/choices.h"

namespace fovea {

struct TrainingSizes {
  std::vector<std::int64_t> sides{};  ///< of the square images; empty: they have their usual size
  SizeSchedule schedule = SizeSchedule::progressive;
  std::int64_t epochs = 1;  ///< until the last side is reached
  std::uint64_t seed = 0;   ///< of random ones
};

/// Of the training images of an epoch: the side that the schedule says, or `usual` without one. A
/// function of (seed, epoch).
[[nodiscard]] ImageSize training_size(const TrainingSizes& sizes, ImageSize usual,
                                      std::int64_t epoch);

/// Shows `model` an image of each size: better now than epochs later. Throws UsageError naming
/// `who` where it cannot take one.
void try_training_sizes(const TrainingSizes& sizes, Model& model, const std::string& who);

}  // namespace fovea
