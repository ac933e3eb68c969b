// Parsers of class maps and synset names.
#include "data/classes/class_list.h"

#include <algorithm>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/files.h"
#include "engine/base/lists.h"
#include "engine/base/text.h"
#include "engine/base/unicode.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;

/// "tench (n01440764)"; the id alone if `words` does not contain it.
std::string shown_name(const std::string& id, const std::map<std::string, std::string>& words) {
  const auto known = words.find(id);
  return visible_text(known == words.end() ? id : known->second + " (" + id + ")");
}

/// Natural order: numbers in names compare by value, everything else by bytes.
bool is_counted_before(std::string_view a, std::string_view b) {
  constexpr std::string_view kDigits = "0123456789";
  const auto take = [kDigits](std::string_view& text) {
    const std::size_t end = std::min(text.find_first_not_of(kDigits), text.size());
    const std::string_view part = text.substr(0, std::max<std::size_t>(end, 1));
    text.remove_prefix(part.size());
    return part;
  };
  while (!a.empty() && !b.empty()) {
    const std::string_view left = take(a), right = take(b);
    const auto m = parse_integer(left), n = parse_integer(right);
    if (m && n && *m != *n) return *m < *n;
    if (!(m && n) && left != right) return left < right;
  }
  return a.size() < b.size();
}

}  // namespace

ClassList::ClassList(std::vector<std::string> ids, const std::string& context)
    : ids_(std::move(ids)) {
  for (std::size_t k = 0; k < ids_.size(); ++k)
    check(labels_.emplace(ids_[k], static_cast<std::int64_t>(k)).second, context, ": the class \"",
          ids_[k], "\" appears twice");
}

std::optional<std::int64_t> ClassList::find(const std::string& id) const {
  const auto found = labels_.find(id);
  if (found == labels_.end()) return std::nullopt;
  return found->second;
}

std::vector<std::int64_t> all_numbers(const std::vector<std::string>& names) {
  std::vector<std::int64_t> numbers;
  for (const std::string& name : names) {
    const auto number = parse_integer(name);
    if (!number) return {};
    numbers.push_back(*number);
  }
  return numbers;
}

bool is_in_natural_order(const std::vector<std::string>& names) {
  return std::is_sorted(names.begin(), names.end(), is_counted_before);
}

std::vector<std::string> in_label_order(std::vector<std::string> folders) {
  std::sort(folders.begin(), folders.end());
  if (all_numbers(folders).empty()) return folders;
  std::stable_sort(folders.begin(), folders.end(), [](const std::string& a, const std::string& b) {
    return *parse_integer(a) < *parse_integer(b);
  });
  return folders;
}

ClassList parse_class_map(std::string_view text, const std::string& context) {
  std::vector<std::string> ids = listed_names(text, context);
  for (std::string& id : ids) id = composed_text(id);
  check(!ids.empty(), context, ": contains no class, expected one per line");
  return {std::move(ids), context};
}

ClassList read_class_map(const fs::path& file, const fs::path& data_dir) {
  std::error_code ignored;
  const bool beside = !fs::exists(file, ignored) && fs::exists(data_dir / file, ignored);
  const fs::path path = beside ? data_dir / file : file;
  return parse_class_map(read_file(path), path.string());
}

std::map<std::string, std::string> parse_synset_words(std::string_view text,
                                                      const std::string& context) {
  std::map<std::string, std::string> words;
  for (const std::string& entry : list_entries(text, context)) {
    const std::string line = trimmed(entry);
    const std::size_t blank = line.find_first_of(" \t");
    if (blank == std::string::npos) continue;
    const std::string names = trimmed(line.substr(blank));
    words.emplace(line.substr(0, blank), trimmed(names.substr(0, names.find(','))));
  }
  return words;
}

std::vector<std::string> shown_names(const ClassList& classes, const fs::path& data_dir) {
  std::map<std::string, std::string> words;
  for (const char* file : {"LOC_synset_mapping.txt", "synset_words.txt"}) {
    std::error_code ignored;
    if (!words.empty() || !fs::is_regular_file(data_dir / file, ignored)) continue;
    const fs::path path = data_dir / file;
    words = parse_synset_words(read_file(path), path.string());
  }
  std::vector<std::string> names;
  for (const std::string& id : classes.ids()) names.push_back(shown_name(id, words));
  return names;
}

}  // namespace fovea
