// Messages about damaged states of a run.
#pragma once

#include <filesystem>
#include <string>

#include "train/run/run_paths.h"

namespace fovea {

/// What helps where a state of this run cannot be read, as the end of a message: another one that
/// can or, if there is none, starting anew.
[[nodiscard]] std::string help_with_damaged_state(const RunPaths& run);

/// The note to a run that continues from `state` because a later one, from before an evaluation, is
/// damaged; "" if there is none.
[[nodiscard]] std::string note_of_later_state(const std::filesystem::path& state);

}  // namespace fovea
