// A run's settings as the options of its parts: nothing below knows the flags.
#pragma once

#include "settings/config.h"
#include "train/loop/trainer.h"
#include "train/start/initial_weights.h"

namespace fovea {

/// The settings must have been checked (check_config).
[[nodiscard]] TrainerOptions trainer_options(const TrainConfig& config);

[[nodiscard]] StepOptions step_options(const TrainConfig& config);
[[nodiscard]] OptimizerOptions optimizer_options(const TrainConfig& config);
[[nodiscard]] ScheduleOptions schedule_options(const TrainConfig& config);
/// What of the settings of the rate is not taken as it stands, for the user to know.
[[nodiscard]] std::vector<std::string> schedule_notices(const TrainConfig& config);
[[nodiscard]] EvaluateOptions evaluate_options(const TrainConfig& config);
[[nodiscard]] TrainingSizes training_sizes(const TrainConfig& config);
[[nodiscard]] InitialWeights initial_weights(const TrainConfig& config);

}  // namespace fovea
