// Builds the list of labelled pictures from a folder's index.
#include "data/sources/files/folder.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <sstream>
#include <utility>

#include "data/image.h"
#include "data/sources/files/find_ignoring_case.h"
#include "data/sources/files/picture_labels.h"
#include "data/sources/files/split_folders.h"
#include "data/sources/split_overlap.h"
#include "engine/base/crc32c.h"
#include "engine/base/error.h"
#include "engine/base/files.h"
#include "engine/base/lists.h"
#include "engine/base/text.h"
#include "engine/base/unicode.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLabelsAdvice =
    "--val-labels FILE gives the classes of pictures: LOC_val_solution.csv, ImageNet's ground "
    "truth, or lines \"PICTURE CLASS\"";
constexpr const char* kSplitItself = ".";  // the class of pictures that lie in no class folder

/// The classes of the training split, so that both splits have the same labels.
ClassList classes_of(const DatasetOptions& options, const fs::path& root) {
  if (!options.class_map.empty()) return read_class_map(options.class_map, options.data_dir);
  const fs::path train = find_split_folder(options, Split::train);
  const fs::path& from = train.empty() ? root : train;
  std::vector<std::string> names;
  std::set<std::string> seen;
  for (const std::string& folder : folders_below(from)) {
    const std::string name = composed_text(folder);
    if (seen.insert(name).second) names.push_back(name);
  }
  check(!names.empty() || !options.labelled, from.string(),
        ": contains no folders, expected one for each class");
  if (names.empty()) names.emplace_back(kSplitItself);
  return {in_label_order(std::move(names)), from.string()};
}

/// The index file of a root; its name is derived from the root.
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

}  // namespace

ImageFolder::ImageFolder(const DatasetOptions& options, Split split)
    : FileDataset(options.exif_orientation), root_(find_split_folder(options, split)) {
  if (root_.empty()) fail_without_split(options, split);
  index_ = load_folder_index(root_, index_file(options.index_cache, root_));
  if (split == Split::test && !options.val_labels.empty()) {
    add_labelled_images(options);
  } else {
    if (std::ranges::all_of(index_.files, [&](const auto& file) { return is_loose(file); })) {
      check_pictures(options, split);
    }
    const ClassList classes = classes_of(options, root_);
    names_ = shown_names(classes, options.data_dir);
    if (classes.find(kSplitItself)) names_ = {"picture"};
    add_images(classes, /*may_drop=*/!options.class_map.empty());
  }
  if (images_.empty()) check_pictures(options, split);
  if (!index_.others.empty()) add_notice(left_out());
  if (split == Split::train) return;
  add_notice(split_overlap_notice(root_, index_, find_split_folder(options, Split::train)));
}

/// Throws with an explanation if no picture belongs to a class.
void ImageFolder::check_pictures(const DatasetOptions& options, Split split) const {
  const std::int64_t loose = loose_pictures();
  const bool has_folders = !folders_below(root_).empty();
  if (loose > 0 ? !options.labelled : !has_folders) return;
  check(loose > 0, root_.string(), ": contains no pictures, expected ",
        join(picture_endings(), ", "), " files in class folders",
        left_out().empty() ? "" : "; " + left_out(),
        notice_.empty() ? "" : "; " + notice_.substr(root_.string().size() + 2));
  if (split == Split::train && !has_folders) return;
  fail(root_.string(), ": its ", loose, " pictures are not in class folders; ",
       split == Split::train ? "expected a folder for each class" : kLabelsAdvice);
}

void ImageFolder::add_labelled_images(const DatasetOptions& options) {
  const fs::path file = beside_or_below(options.val_labels, options.data_dir);
  check(is_file(file), "--val-labels: ", file.string(),
        " is not a file, expected a list of labels");
  const PictureLabels listed = parse_picture_labels(read_file(file), file.string());
  const bool has_classes =
      !options.class_map.empty() || !find_split_folder(options, Split::train).empty();
  std::vector<std::string> pictures;
  for (const FolderIndex::File& picture : index_.files) pictures.push_back(picture.name);
  const ClassList classes =
      has_classes ? classes_of(options, root_) : listed_classes(listed, pictures);
  names_ = shown_names(classes, options.data_dir);
  const std::vector<std::int64_t> labels = labels_of(listed, pictures, classes);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    images_.push_back({static_cast<std::int64_t>(i), labels[i]});
  }
}

void ImageFolder::add_images(const ClassList& classes, bool may_drop) {
  std::vector<std::optional<std::int64_t>> labels;  // label of each directory
  std::set<std::string> dropped;
  for (const FolderIndex::Directory& directory : index_.directories) {
    labels.push_back(
        classes.find(composed_text(directory.path.substr(0, directory.path.find('/')))));
  }
  std::vector<bool> seen(names_.size());
  for (std::size_t i = 0; i < index_.files.size(); ++i) {
    const FolderIndex::File& file = index_.files[i];
    const std::string& directory = index_.directories[file.directory].path;
    const bool is_beside = directory == kSplitItself && !classes.find(kSplitItself);
    if (is_beside) continue;  // next to the class folders: belongs to no class
    if (const auto label = labels[file.directory]) {
      images_.push_back({static_cast<std::int64_t>(i), *label});
      seen[*label] = true;
    } else {
      dropped.insert(directory.substr(0, directory.find('/')));
    }
  }
  check(may_drop || dropped.empty(), root_.string(), ": has the class \"",
        dropped.empty() ? "" : visible_text(*dropped.begin()),
        "\", which the training split does not have; ",
        images_.empty() ? concat("if that is not a class, ", kLabelsAdvice)
                        : "--class-map FILE lists the folders to use");
  std::vector<std::string> strange;
  for (const std::string& folder : dropped) strange.push_back(visible_text(folder));
  note_classes(seen, strange, may_drop ? classes.ids() : std::vector<std::string>());
  const bool left_some = images_.size() < index_.files.size();
  const std::int64_t loose = left_some ? loose_pictures() : 0;
  if (loose > 0 && !classes.find(kSplitItself)) {
    add_notice(concat(
        loose, loose == 1 ? " picture next to the class folders has no class and is skipped"
                          : " pictures next to the class folders have no class and are skipped"));
  }
}

void ImageFolder::note_classes(const std::vector<bool>& seen,
                               const std::vector<std::string>& strange,
                               const std::vector<std::string>& mapped) {
  std::set<std::string> folders;
  std::vector<std::string> merged;
  for (const FolderIndex::Directory& directory : index_.directories) {
    const std::string name = composed_text(directory.path);
    const bool is_class = name.find('/') == std::string::npos;
    if (!folders.insert(name).second && is_class) merged.push_back(visible_text(name));
  }
  std::vector<std::string> without_folder, empty;
  for (std::size_t k = 0; k < seen.size(); ++k) {
    if (!mapped.empty() && !folders.contains(composed_text(mapped[k]))) {
      without_folder.push_back(visible_text(mapped[k]));
    } else if (!seen[k]) {
      empty.push_back(names_[k]);
    }
  }
  const auto add = [&](const std::vector<std::string>& names, const std::string& what) {
    if (!names.empty()) add_notice(std::to_string(names.size()) + what + first_few(names));
  };
  add(merged, " folders differ from another in Unicode normalisation alone and are one with it: ");
  add(strange, " folders are not in the class map: ");
  add(without_folder, " entries of the class map have no folder: ");
  add(empty, " of " + std::to_string(seen.size()) + " classes have no pictures: ");
}

void ImageFolder::add_notice(const std::string& text) {
  if (text.empty()) return;
  notice_ += (notice_.empty() ? root_.string() + ": " : "; ") + text;
}

bool ImageFolder::is_loose(const FolderIndex::File& file) const {
  return index_.directories[file.directory].path == kSplitItself;
}

std::int64_t ImageFolder::loose_pictures() const {
  return std::ranges::count_if(index_.files, [&](const auto& file) { return is_loose(file); });
}

std::string ImageFolder::left_out() const {
  std::vector<std::string> kinds;
  for (const auto& [ending, count] : index_.others) {
    kinds.push_back(std::to_string(count) +
                    (ending.empty() ? " without an extension" : " " + ending));
  }
  return kinds.empty() ? "" : "skipped " + join(kinds, ", ") + " (not images)";
}

const ImageFolder::FolderImage& ImageFolder::entry(std::int64_t index) const {
  check_index(index, root_.string());
  return images_[index];
}

std::int64_t ImageFolder::label(std::int64_t index) const { return entry(index).label; }

std::string ImageFolder::describe(std::int64_t index) const {
  const FolderIndex::File& file = index_.files[entry(index).file];
  const std::string& directory = index_.directories[file.directory].path;
  return ((directory == kSplitItself ? root_ : root_ / directory) / file.name).string();
}

void ImageFolder::list_entry(std::int64_t index, ListEntry& list) const {
  const FolderImage& image = entry(index);
  const FolderIndex::File& file = index_.files[image.file];
  list.name = index_.directories[file.directory].path;
  list.name += '/';
  list.name += file.name;
  list.label = image.label;
}

std::optional<std::string> ImageFolder::file(std::int64_t index) const {
  return read_file(describe(index));
}

}  // namespace fovea
