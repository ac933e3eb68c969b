// The settings that a run has before its --config file and flags.
#pragma once

#include <string>
#include <vector>

#include "train/settings/config.h"

namespace fovea {

/// A flag as typed by the user.
struct Setting {
  std::string name, text;
};

struct StartingPoint {
  std::string recipe;  ///< name of a file in recipes/
  TrainConfig config;  ///< the recipe, then `taken`
  /// For weights in a hub's folder, what its config.json sets: the model, and the preprocessing of
  /// images. Without the model if another one is wanted.
  std::vector<Setting> taken{};
};

/// The starting point of a run with the settings `wanted`: its data set, the weights to fine-tune,
/// and its model, if it has a name. Weights in a hub's folder have a recipe of their own, unless
/// there is a --config file. Tasks without such a recipe do not read config.json. Throws Error if
/// their config.json is not supported.
[[nodiscard]] StartingPoint starting_point(const TrainConfig& wanted);

/// Throws Error if the weights to fine-tune do not exist, or if nothing names their model.
void check_weights(const TrainConfig& wanted, const StartingPoint& start);

/// Adds the model-args of the starting point that `config` does not set otherwise.
void keep_model_args(const StartingPoint& start, TrainConfig& config);

}  // namespace fovea
