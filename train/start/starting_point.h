// The settings that a run has before its --config file and flags.
#pragma once

#include <string>
#include <vector>

#include "train/settings/config.h"

namespace fovea {

struct StartingPoint {
  std::string recipe;  ///< name of a file in recipes/
  /// For weights in a hub's folder, their config.json: the source of the model, unless another one
  /// is asked for, and of the preprocessing of images. Else empty.
  std::string hub{};
  TrainConfig config;  ///< the recipe, then the hub's settings
};

/// The starting point of a run with these requested settings: "dataset", which must be one of them,
/// the weights to "finetune", and the "model", if it is named. Weights in a hub's folder have a
/// recipe of their own, unless there is a "config" file. Tasks without such a recipe do not read
/// config.json. Throws Error if their config.json is not supported.
[[nodiscard]] StartingPoint starting_point(TaskKind task, const std::vector<Setting>& asked);

/// Throws Error if the weights to fine-tune do not exist, or if nothing names their model.
void check_weights(const std::vector<Setting>& given, const StartingPoint& start);

/// Adds the hub's model-args that `config` does not set otherwise.
void keep_model_args(const StartingPoint& start, TrainConfig& config);

}  // namespace fovea
