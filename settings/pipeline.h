// What the settings say about data, as options of the parts that prepare it.
#pragma once

#include "data/loading/training_images.h"
#include "settings/augmentation.h"
#include "settings/config.h"

namespace fovea {

[[nodiscard]] Normalization normalization_of(const TrainConfig& config);

/// Everything that is random in a run comes from this and from its place in the run.
[[nodiscard]] std::uint64_t seed_of(const TrainConfig& config);

/// The share of broken images from which on a run stops, as --on-bad-image says.
[[nodiscard]] double bad_image_limit(const TrainConfig& config);

[[nodiscard]] TrainingImages training_images(const TrainConfig& config);

}  // namespace fovea
