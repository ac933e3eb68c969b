// The command for fine-tuning a trained masked autoencoder.
#pragma once

#include <string>

#include "train/settings/config.h"

namespace fovea {

/// The command that trains a classifier from the encoder of this run, on the same data, with RUN
/// for the run's folder. Its lines fit a terminal, unless a single flag is longer.
[[nodiscard]] std::string finetune_command(const TrainConfig& config);

}  // namespace fovea
