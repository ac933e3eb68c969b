// Filtering of model names by shell patterns.
#include "apps/common/model_list.h"

#include <fnmatch.h>

#include "engine/base/error.h"
#include "engine/base/text.h"

namespace fovea {
namespace {

std::vector<std::string> matching(const std::vector<std::string>& names,
                                  const std::string& pattern) {
  const bool is_part = pattern.find_first_of("*?[") == std::string::npos;
  const std::string wanted = is_part ? "*" + pattern + "*" : pattern;
  std::vector<std::string> found;
  for (const std::string& name : names) {
    if (fnmatch(wanted.c_str(), name.c_str(), 0) == 0) found.push_back(name);
  }
  check(!found.empty(), "--list-models: no listed name matches ", pattern,
        "; --list-models all lists all");
  return found;
}

}  // namespace

std::string model_list(const ModelNames& names, const std::string& pattern) {
  const std::vector<std::string> found = pattern.empty()    ? names.common
                                         : pattern == "all" ? names.all
                                                            : matching(names.all, pattern);
  std::string text = join(found, "\n") + "\n";
  const bool has_pit = text.find("pit_") != std::string::npos;
  if (has_pit) text += "# pit_*: the Pixel Transformer, not the Pooling Transformer\n";
  const std::size_t others = pattern.empty() ? names.all.size() - names.common.size() : 0;
  if (others > 0) {
    text += "# " + std::to_string(others) +
            " more are timm's: --list-models all, or --list-models '*clip*'\n";
  }
  return text;
}

}  // namespace fovea
