// From a folder's index to labelled pictures.
#include "data/sources/folder.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <sstream>

#include "base/crc32c.h"
#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "data/image.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSplitItself = ".";  // the class of pictures that lie in no class folder

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

/// Folders directly below, sorted.
std::vector<std::string> folders_below(const fs::path& root) {
  std::vector<std::string> names;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(root, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with('.') && is_folder(entry.path())) names.push_back(name);
  }
  check(!error, root.string(), ": cannot be read: ", error.message());
  std::sort(names.begin(), names.end());
  return names;
}

/// Those of the training split, so that both splits count alike.
ClassList classes_of(const DatasetOptions& options, const fs::path& root) {
  if (!options.class_map.empty()) return read_class_map(options.class_map, options.data_dir);
  const fs::path train = find_split_folder(options, Split::train);
  const fs::path& from = train.empty() ? root : train;
  std::vector<std::string> names = folders_below(from);
  check(!names.empty() || !options.labelled, from.string(),
        ": holds no folders, expected one for each class");
  if (names.empty()) names.emplace_back(kSplitItself);
  return {std::move(names), from.string()};
}

/// One index file for each root, named after it.
fs::path index_file(const std::string& cache, const fs::path& root) {
  if (cache == "none") return {};
  fs::path folder = cache;
  if (cache.empty()) {
    const char* own = std::getenv("XDG_CACHE_HOME");
    const char* home = std::getenv("HOME");
    if (own != nullptr && *own != '\0')
      folder = fs::path(own) / "fovea";
    else if (home != nullptr && *home != '\0')
      folder = fs::path(home) / ".cache" / "fovea";
    else
      return {};
  }
  std::error_code ignored;
  const std::string whole = fs::weakly_canonical(root, ignored).string();
  std::ostringstream name;
  name << root.filename().string() << '-' << std::hex << crc32c(whole) << ".index";
  return folder / name.str();
}

[[noreturn]] void fail_without_split(const DatasetOptions& options, Split split) {
  const std::string& wanted = split == Split::train ? options.train_split : options.val_split;
  const char* usual = split == Split::train ? "train" : "val or validation";
  fail(options.data_dir.string(), ": holds no folder ", wanted.empty() ? usual : wanted.c_str(),
       " with a folder for each class; name the place as data_dir, or the split's folder as ",
       split == Split::train ? "train_split" : "val_split");
}

}  // namespace

fs::path find_split_folder(const DatasetOptions& options, Split split) {
  const std::string& wanted = split == Split::train ? options.train_split : options.val_split;
  std::vector<std::string> tried = {"train"};
  if (split == Split::test) tried = {"val", "validation"};
  if (!wanted.empty()) tried = {wanted};
  for (const std::string& name : tried)
    if (is_folder(options.data_dir / name)) return options.data_dir / name;
  return {};
}

ImageFolder::ImageFolder(const DatasetOptions& options, Split split)
    : root_(find_split_folder(options, split)) {
  if (root_.empty()) fail_without_split(options, split);
  const ClassList classes = classes_of(options, root_);
  names_ = shown_names(classes, options.data_dir);
  if (classes.find(kSplitItself)) names_ = {"picture"};
  index_ = load_folder_index(root_, index_file(options.index_cache, root_));
  add_images(classes, /*may_drop=*/!options.class_map.empty());
  check(!images_.empty(), root_.string(), ": holds no pictures, expected ",
        joined(picture_endings(), ", "), " files in class folders",
        left_out().empty() ? "" : "; " + left_out());
}

void ImageFolder::add_images(const ClassList& classes, bool may_drop) {
  std::vector<std::optional<std::int64_t>> labels;  // of the directories
  std::set<std::string> dropped;
  for (const FolderIndex::Directory& directory : index_.directories)
    labels.push_back(classes.find(directory.path.substr(0, directory.path.find('/'))));
  std::vector<bool> seen(names_.size());
  for (std::size_t i = 0; i < index_.files.size(); ++i) {
    const FolderIndex::File& file = index_.files[i];
    const std::string& directory = index_.directories[file.directory].path;
    const bool is_beside = directory == kSplitItself && !classes.find(kSplitItself);
    if (is_beside) continue;  // the class folders: no picture of a class
    if (const auto label = labels[file.directory]) {
      images_.push_back({static_cast<std::int64_t>(i), *label});
      seen[*label] = true;
    } else {
      dropped.insert(directory.substr(0, directory.find('/')));
    }
  }
  check(may_drop || dropped.empty(), root_.string(), ": has the class \"",
        dropped.empty() ? "" : *dropped.begin(), "\", which the training split does not have");
  const auto empty = std::count(seen.begin(), seen.end(), false);
  std::ostringstream text;
  if (!dropped.empty()) text << dropped.size() << " folders are not in the class map; ";
  if (empty > 0)
    text << empty << " of " << seen.size() << " classes have no pictures, the first is "
         << names_[std::find(seen.begin(), seen.end(), false) - seen.begin()] << "; ";
  if (!index_.others.empty()) text << left_out() << "; ";
  if (text.str().empty()) return;
  notice_ = root_.string() + ": " + text.str();
  notice_.resize(notice_.size() - 2);
}

std::string ImageFolder::left_out() const {
  std::vector<std::string> kinds;
  for (const auto& [ending, count] : index_.others) {
    kinds.push_back(std::to_string(count) + (ending.empty() ? " without an ending" : " " + ending));
  }
  return kinds.empty() ? "" : "left out are files of other kinds: " + joined(kinds, ", ");
}

const ImageFolder::Entry& ImageFolder::entry(std::int64_t index) const {
  check(index >= 0 && index < size(), root_.string(), ": got index ", index, ", expected 0 to ",
        size() - 1);
  return images_[index];
}

std::int64_t ImageFolder::label(std::int64_t index) const { return entry(index).label; }

std::string ImageFolder::describe(std::int64_t index) const {
  const FolderIndex::File& file = index_.files[entry(index).file];
  const std::string& directory = index_.directories[file.directory].path;
  return ((directory == kSplitItself ? root_ : root_ / directory) / file.name).string();
}

void ImageFolder::list_entry(std::int64_t index, ListEntry& list) const {
  const Entry& image = entry(index);
  const FolderIndex::File& file = index_.files[image.file];
  list.name.append(index_.directories[file.directory].path).append("/").append(file.name);
  list.label = image.label;
}

std::optional<std::string> ImageFolder::file(std::int64_t index) const {
  return read_file(describe(index));
}

}  // namespace fovea
