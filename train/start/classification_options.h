// A run's settings as those of classification.
#pragma once

#include "settings/config.h"
#include "train/tasks/classification.h"

namespace fovea {

/// The settings must have been checked (check_config).
[[nodiscard]] ObjectiveOptions objective_options(const TrainConfig& config);
[[nodiscard]] ClassificationOptions classification_options(const TrainConfig& config,
                                                           std::int64_t classes);

}  // namespace fovea
