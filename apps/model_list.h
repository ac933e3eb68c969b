// The customary names of models, for --list-models.
#pragma once

#include <string>
#include <vector>

namespace fovea {

/// Those of `names` that `pattern` fits, one a line: * and ? are any letters and any one letter; a
/// pattern without them fits where it is a part. Where a pit is among them, a last line, "# ...",
/// says which PiT is meant. Throws Error where none is left.
[[nodiscard]] std::string model_list(const std::vector<std::string>& names,
                                     const std::string& pattern);

}  // namespace fovea
