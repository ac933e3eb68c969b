// Runs as a command line names them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace fovea {

/// "RUN_DIR" or "LABEL=RUN_DIR".
struct RunArgument {
  std::filesystem::path folder;
  std::string label;  ///< the folder's own name where none is given
  bool has_own_label = false;
};

/// An argument that is an existing folder is one, whatever "=" it has; of another one the label
/// ends at the first "=" with an existing folder behind it. Throws Error where there is none.
[[nodiscard]] RunArgument parse_run_argument(const std::string& argument);

/// Whether `run` stands among `others` already: the same folder, by whatever path, and that under
/// the same label, or without a label that would make it another row.
[[nodiscard]] bool is_named_again(const RunArgument& run, const std::vector<RunArgument>& others);

}  // namespace fovea
