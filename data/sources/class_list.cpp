// Reading class maps and synset names.
#include "data/sources/class_list.h"

#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;

std::string trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(blanks) - begin + 1));
}

template <class Use>
void for_each_line(std::string_view text, const Use& use) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (const std::string line = trimmed(text.substr(0, end)); !line.empty()) use(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

}  // namespace

ClassList::ClassList(std::vector<std::string> ids, const std::string& where)
    : ids_(std::move(ids)) {
  for (std::size_t k = 0; k < ids_.size(); ++k)
    check(labels_.emplace(ids_[k], static_cast<std::int64_t>(k)).second, where, ": the class \"",
          ids_[k], "\" stands there twice");
}

std::optional<std::int64_t> ClassList::find(const std::string& id) const {
  const auto found = labels_.find(id);
  if (found == labels_.end()) return std::nullopt;
  return found->second;
}

ClassList parse_class_map(std::string_view text, const std::string& where) {
  std::vector<std::string> ids;
  for_each_line(text, [&](const std::string& line) { ids.push_back(line); });
  check(!ids.empty(), where, ": names no class, expected one a line");
  return {std::move(ids), where};
}

ClassList read_class_map(const fs::path& file, const fs::path& data_dir) {
  std::error_code ignored;
  const bool beside = !fs::exists(file, ignored) && fs::exists(data_dir / file, ignored);
  const fs::path path = beside ? data_dir / file : file;
  return parse_class_map(read_file(path), path.string());
}

std::map<std::string, std::string> parse_synset_words(std::string_view text) {
  std::map<std::string, std::string> words;
  for_each_line(text, [&](const std::string& line) {
    const std::size_t blank = line.find_first_of(" \t");
    if (blank == std::string::npos) return;
    const std::string names = trimmed(line.substr(blank));
    words.emplace(line.substr(0, blank), trimmed(names.substr(0, names.find(','))));
  });
  return words;
}

std::vector<std::string> shown_names(const ClassList& classes, const fs::path& data_dir) {
  std::map<std::string, std::string> words;
  for (const char* file : {"LOC_synset_mapping.txt", "synset_words.txt"}) {
    std::error_code ignored;
    if (!words.empty() || !fs::is_regular_file(data_dir / file, ignored)) continue;
    words = parse_synset_words(read_file(data_dir / file));
  }
  std::vector<std::string> names;
  for (const std::string& id : classes.ids()) {
    const auto known = words.find(id);
    names.push_back(visible_text(known == words.end() ? id : known->second + " (" + id + ")"));
  }
  return names;
}

}  // namespace fovea
