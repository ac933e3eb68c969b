// The common model names, for --list-models.
#pragma once

#include <string>
#include <vector>

namespace fovea {

/// The names that match `pattern`, one per line. * matches any letters, ? any one letter; a pattern
/// without them matches as a substring. If a pit is among them, a last line, "# ...", explains
/// which PiT this is. Throws Error if no name matches.
[[nodiscard]] std::string model_list(const std::vector<std::string>& names,
                                     const std::string& pattern);

}  // namespace fovea
