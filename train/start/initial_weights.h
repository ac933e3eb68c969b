// The weights that a new run starts with.
#pragma once

#include "base/notices.h"
#include "models/model.h"
#include "settings/initial_weights.h"
#include "train/run/run_context.h"

namespace fovea {

/// `notices` gets a line with what was copied, resized or kept, and one where weights were trained
/// with other colours than the run's. A run that is resumed needs none of it: its state has all
/// weights, and the files may be gone.
void set_initial_weights(const InitialWeights& from, const RunContext& run, Model& model,
                         Notices& notices);

}  // namespace fovea
