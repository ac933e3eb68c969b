// Other initial values than those that a model is born with.
#pragma once

#include "models/model.h"
#include "train/config.h"

namespace fovea {

/// --init, then --head-init-scale and --head-init-bias. A function of the settings' seed. Throws
/// UsageError where the model is none that the settings are made for.
void set_initial_values(const TrainConfig& config, const Model& model);

/// Whether a parameter belongs to a classification head.
[[nodiscard]] bool is_head_parameter(std::string_view name);

}  // namespace fovea
