// The weights that a new run starts with.
#pragma once

#include <string>
#include <vector>

#include "base/notices.h"
#include "models/model.h"
#include "settings/initial_weights.h"
#include "train/run/run_context.h"

namespace fovea {

/// What weights from files are brought to.
struct NewRun {
  const RunContext& context;
  const std::vector<std::string>& classes;  ///< of its images, as the data set calls them
};

/// `notices` gets a line with what was copied, resized or kept, one where weights were trained with
/// other colours than the run's, and those of match_heads(). A run that is resumed needs none of
/// it: its state has all weights, and the files may be gone.
void set_initial_weights(const InitialWeights& from, const NewRun& run, Model& model,
                         Notices& notices);

}  // namespace fovea
