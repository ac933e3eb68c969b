// Runs given on a command line.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace fovea {

/// A run given as "RUN_DIR" or "LABEL=RUN_DIR".
struct RunArgument {
  std::filesystem::path folder;
  std::string label;  ///< the folder's name by default
  bool has_own_label = false;
};

/// Parses an argument. An existing folder is taken as a whole, even with "=" in its name. Otherwise
/// the label ends at the first "=" followed by an existing folder. Throws Error if there is none.
[[nodiscard]] RunArgument parse_run_argument(const std::string& argument);

/// Makes labels distinct that are the names of different folders: "seed0" of lr1/seed0 and of
/// lr2/seed0 become "lr1/seed0" and "lr2/seed0". Labels given by the user stay.
void distinguish(std::vector<RunArgument>& runs);

/// True if `run` is already among `others`: the same folder, by any path, under the same label, or
/// without a label that would create another row.
[[nodiscard]] bool is_named_again(const RunArgument& run, const std::vector<RunArgument>& others);

}  // namespace fovea
