// What to type when a masked autoencoder has been trained.
#pragma once

#include <string>

#include "settings/config.h"

namespace fovea {

/// The command that trains a classifier from the encoder of such a run, on the same data; RUN
/// stands for the run's folder. In lines of at most 100 characters, where no flag alone is longer.
[[nodiscard]] std::string finetune_command(const TrainConfig& config);

}  // namespace fovea
