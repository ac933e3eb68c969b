// The classes of a photograph data set: their names in the files and their display names.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fovea {

/// Class k is called ids()[k] in the files, such as the name of a folder.
class ClassList {
 public:
  ClassList() = default;
  /// Throws on duplicate names; `context` starts the message.
  ClassList(std::vector<std::string> ids, const std::string& context);

  [[nodiscard]] const std::vector<std::string>& ids() const { return ids_; }
  [[nodiscard]] std::optional<std::int64_t> find(const std::string& id) const;

 private:
  std::vector<std::string> ids_;
  std::map<std::string, std::int64_t> labels_;
};

/// The names as numbers; empty if any name is not a number.
[[nodiscard]] std::vector<std::int64_t> all_numbers(const std::vector<std::string>& names);
/// Whether names are in natural order: "class 2" before "class 10".
[[nodiscard]] bool is_in_natural_order(const std::vector<std::string>& names);
/// Class folders in label order: numeric if all names are numbers, so that 10 follows 2; otherwise
/// by bytes.
[[nodiscard]] std::vector<std::string> in_label_order(std::vector<std::string> folders);

/// Parses a class map as in timm: one class name per line, in label order, optionally quoted; see
/// list_entries(). Throws Error, starting with `context`, on an empty list and on duplicate names.
[[nodiscard]] ClassList parse_class_map(std::string_view text, const std::string& context);
/// Reads the file, or if it does not exist, the file of that name below `data_dir`.
[[nodiscard]] ClassList read_class_map(const std::filesystem::path& file,
                                       const std::filesystem::path& data_dir);

/// Parses lines "n01440764 tench, Tinca tinca" as in LOC_synset_mapping.txt and synset_words.txt;
/// returns the first name of each id. Ignores lines of another form. `context` is as in
/// list_entries().
[[nodiscard]] std::map<std::string, std::string> parse_synset_words(std::string_view text,
                                                                    const std::string& context);
/// "tench (n01440764)" if data_dir contains a synset file with the id; otherwise the id.
[[nodiscard]] std::vector<std::string> shown_names(const ClassList& classes,
                                                   const std::filesystem::path& data_dir);

}  // namespace fovea
