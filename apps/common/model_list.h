// Lists of model names, for --list-models.
#pragma once

#include <string>
#include <vector>

namespace fovea {

struct ModelNames {
  std::vector<std::string> common;  ///< those that a newcomer needs
  std::vector<std::string> all;
};

/// Names of models, one per line: the common ones if `pattern` is empty, all if it is "all", else
/// those of all that match. * matches any letters, ? any one letter; a pattern without them matches
/// as a substring. Last lines, "# ...", say how to list the others, and which PiT a pit is. Throws
/// Error if no name matches.
[[nodiscard]] std::string model_list(const ModelNames& names, const std::string& pattern);

}  // namespace fovea
