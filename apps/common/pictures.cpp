// Listing picture files in folders and lists.
#include "apps/common/pictures.h"

#include <istream>
#include <iterator>

#include "data/image.h"
#include "data/sources/files/folder_index.h"
#include "engine/base/files.h"
#include "engine/base/lists.h"
#include "engine/base/text.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;

void add_folder(PictureList& list, const fs::path& path) {
  const auto first = list.files.size();
  try {
    const std::vector<fs::path> files = pictures_below(path);
    list.files.insert(list.files.end(), files.begin(), files.end());
  } catch (const Error& error) {  // an unreadable folder; the other arguments still count
    list.missing.push_back({path.string(), error.what(), first});
    return;
  }
  if (list.files.size() == first) {
    list.missing.push_back(
        {path.string(), "contains no " + join(picture_endings(), ", ") + " file", first});
  }
}

void add(PictureList& list, const fs::path& path) {
  std::error_code none;
  if (!fs::exists(path, none)) {
    list.missing.push_back({path.string(), "does not exist", list.files.size()});
    return;
  }
  if (fs::is_directory(path, none)) return add_folder(list, path);
  list.files.push_back(path);
}

/// Adds an entry of a list. Quotes around it belong to the name if such a file exists.
void add_entry(PictureList& list, const std::string& entry) {
  std::error_code none;
  add(list, fs::exists(entry, none) ? entry : unquoted(trimmed(entry)));
}

}  // namespace

PictureList list_pictures(const std::vector<std::string>& arguments, std::istream& list) {
  PictureList pictures;
  for (const std::string& argument : arguments) {
    if (argument != "-") {
      add(pictures, argument);
      continue;
    }
    const std::string text(std::istreambuf_iterator<char>(list), {});
    for (const std::string& entry : list_entries(text, "the list on standard input"))
      add_entry(pictures, entry);
  }
  return pictures;
}

const std::vector<std::string>& PictureFiles::class_names() const {
  static const std::vector<std::string> names{"unknown"};
  return names;
}

std::optional<std::string> PictureFiles::file(std::int64_t index) const {
  return read_file(files_.at(static_cast<std::size_t>(index)));
}

std::string PictureFiles::describe(std::int64_t index) const {
  return files_.at(static_cast<std::size_t>(index)).string();
}

}  // namespace fovea
