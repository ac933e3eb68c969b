// Whether a new run may begin in a folder that exists.
#pragma once

#include "train/settings/run_request.h"

namespace fovea {

/// Throws Error if files in the folder --output, which holds no state, would be lost or mixed with
/// those of a new run: weights of a run, unless --overwrite is given, a state whose link leads
/// nowhere, or a config.json of another program. Logs alone are what a run leaves that was killed
/// before its first save.
void check_new_folder(const RunRequest& request);

/// Removes what check_new_folder() accepts for --overwrite.
void clear_for_new_run(const RunRequest& request);

}  // namespace fovea
