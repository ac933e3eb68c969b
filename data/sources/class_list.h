// The classes of a data set of photographs: what they are called in the files and what is shown.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fovea {

/// Class k is called ids()[k] in the files: a folder's name.
class ClassList {
 public:
  ClassList() = default;
  /// Throws when a name stands there twice; `where` begins the message.
  ClassList(std::vector<std::string> ids, const std::string& where);

  [[nodiscard]] const std::vector<std::string>& ids() const { return ids_; }
  [[nodiscard]] std::optional<std::int64_t> find(const std::string& id) const;

 private:
  std::vector<std::string> ids_;
  std::map<std::string, std::int64_t> labels_;
};

/// The numbers that all names are; empty where one is none.
[[nodiscard]] std::vector<std::int64_t> all_numbers(const std::vector<std::string>& names);
/// Whether names stand as people count: "class 2" before "class 10".
[[nodiscard]] bool is_in_natural_order(const std::vector<std::string>& names);
/// Class folders in the order of their labels: of their numbers where all are numbers, so that 10
/// comes after 2, else of their bytes.
[[nodiscard]] std::vector<std::string> in_label_order(std::vector<std::string> folders);

/// One class name a line, in label order (timm's class maps), in quotes or not: see list_entries().
/// Throws Error, beginning with `where`, on an empty list and on names that stand there twice.
[[nodiscard]] ClassList parse_class_map(std::string_view text, const std::string& where);
/// The file itself or, when it is not there, the one of that name below `data_dir`.
[[nodiscard]] ClassList read_class_map(const std::filesystem::path& file,
                                       const std::filesystem::path& data_dir);

/// Lines "n01440764 tench, Tinca tinca" as in LOC_synset_mapping.txt and synset_words.txt: what
/// the id is called first. Lines of another form are passed over. `where` is that of
/// list_entries().
[[nodiscard]] std::map<std::string, std::string> parse_synset_words(std::string_view text,
                                                                    const std::string& where);
/// "tench (n01440764)" where data_dir holds such a file and it knows the id; else the id.
[[nodiscard]] std::vector<std::string> shown_names(const ClassList& classes,
                                                   const std::filesystem::path& data_dir);

}  // namespace fovea
