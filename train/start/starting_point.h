// The settings that a run has before its --config file and flags.
#pragma once

#include <string>
#include <vector>

#include "train/settings/config.h"

namespace fovea {

struct StartingPoint {
  std::string recipe;  ///< name of a file in recipes/
  /// What the weights to fine-tune say about themselves, in the config.json of a hub's folder or in
  /// the file that a run has written: the source of the model, unless another one is asked for, and
  /// of the preprocessing of images. Else empty.
  std::string weights{};
  TrainConfig config;  ///< the recipe, then the weights' settings
};

/// The starting point of a run with these requested settings: "dataset", which must be one of them,
/// the weights to "finetune", and the "model", if it is named. Weights in a hub's folder have a
/// recipe of their own, and so have those of a detector, unless there is a "config" file. A hub's
/// folder is read for classifiers alone. Throws Error if its config.json is not supported.
[[nodiscard]] StartingPoint starting_point(TaskKind task, const std::vector<Setting>& asked);

/// Throws Error if the weights to fine-tune do not exist, or if nothing names their model.
void check_weights(const std::vector<Setting>& given, const StartingPoint& start);

/// Adds the weights' model-args that `config` does not set otherwise.
void keep_model_args(const StartingPoint& start, TrainConfig& config);

}  // namespace fovea
