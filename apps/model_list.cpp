// Filtering of model names by shell patterns.
#include "apps/model_list.h"

#include <fnmatch.h>

#include "base/error.h"

namespace fovea {

std::string model_list(const std::vector<std::string>& names, const std::string& pattern) {
  const bool is_part = pattern.find_first_of("*?[") == std::string::npos;
  const std::string wanted = is_part ? "*" + pattern + "*" : pattern;
  std::string text;
  for (const std::string& name : names) {
    if (fnmatch(wanted.c_str(), name.c_str(), 0) == 0) text += name + "\n";
  }
  const bool has_pit = text.find("pit_") != std::string::npos;
  if (has_pit) text += "# pit_*: the Pixel Transformer, not the Pooling Transformer\n";
  check(!text.empty(), "--list-models: no listed name matches ", pattern,
        "; --list-models alone lists all");
  return text;
}

}  // namespace fovea
