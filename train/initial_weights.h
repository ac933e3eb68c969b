// The weights that a new run starts with.
#pragma once

#include <string>
#include <vector>

#include "models/model.h"
#include "settings/config.h"

namespace fovea {

/// In this order: --init, the weights that --finetune or --initial-checkpoint name, those of
/// --peg-load, --head-init-scale and --head-init-bias. `notices` gets a line with what was copied,
/// resized or kept. A run that is resumed needs none of it: its state has all weights, and the
/// files may be gone.
void set_initial_weights(const TrainConfig& config, Model& model,
                         std::vector<std::string>& notices);

}  // namespace fovea
