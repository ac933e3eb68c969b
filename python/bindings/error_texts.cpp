// What stands in errors, and what a Python call has in its place.
#include "python/bindings/error_texts.h"

#include <algorithm>
#include <regex>
#include <utility>

namespace fovea::python {

std::string in_python_words(std::string text) {
  static const std::regex flag("(^|[ (;,:])--([a-z][a-z0-9-]*)");
  static const std::pair<std::regex, const char*> words[] = {
      {std::regex("--resume auto\\b"), "resume=\"auto\""},
      {std::regex("--list-models all\\b"), "fovea.list_models(all=True)"},
      {std::regex("\\bNoGrad\\b"), "fovea.no_grad()"}};
  for (const auto& [word, ours] : words) text = std::regex_replace(text, word, ours);
  for (std::smatch found; std::regex_search(text, found, flag);) {
    std::string name = found[2];
    std::ranges::replace(name, '-', '_');
    text.replace(static_cast<std::size_t>(found.position(0)),
                 static_cast<std::size_t>(found.length(0)), found[1].str() + name);
  }
  return text;
}

}  // namespace fovea::python
