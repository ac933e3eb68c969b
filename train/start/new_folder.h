// Whether a new run may begin in a folder that exists.
#pragma once

#include <filesystem>

#include "train/run/run_paths.h"
#include "train/settings/run_request.h"

namespace fovea {

/// The state in the folder of a run that a new run must not replace: the last one; with
/// --overwrite, only if one of them can be read. "" if there is none.
[[nodiscard]] std::filesystem::path state_to_keep(const RunPaths& run, bool overwrite);

/// Throws Error if files in the folder --output, which has no state to keep, would be lost or mixed
/// with those of a new run: weights of a run, unless --overwrite is given, a state whose link leads
/// nowhere, or a config.json of another program. Logs alone are what a run leaves that was killed
/// before its first save.
void check_new_folder(const RunRequest& request);

/// Removes what --overwrite gives up in a folder without a state to keep: weights, and states that
/// are damaged or dead links.
void clear_for_new_run(const RunRequest& request);

}  // namespace fovea
