// Searches for the training and validation folders.
#include "data/sources/files/split_folders.h"

#include <algorithm>

#include "data/image.h"
#include "data/sources/files/find_ignoring_case.h"
#include "engine/base/error.h"
#include "engine/base/text.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;

/// A folder with a common name, below data_dir or in the folders of Kaggle's archive.
fs::path find_usual(const fs::path& data_dir, Split split) {
  for (const char* const below : {"", "ILSVRC/Data/CLS-LOC", "Data/CLS-LOC", "CLS-LOC"}) {
    for (const std::string& name : usual_split_names(split)) {
      const fs::path found = find_ignoring_case(data_dir / below, name);
      if (is_folder(found)) return found;
    }
  }
  return {};
}

bool holds_picture(const fs::path& folder) {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with('.') && has_picture_ending(name)) return true;
  }
  return false;
}

/// Whether subfolders contain pictures, directly or one level deeper, as in CLASS/images.
bool holds_class_folders(const fs::path& folder) {
  for (const std::string& name : folders_below(folder)) {
    if (holds_picture(folder / name)) return true;
    for (const std::string& deeper : folders_below(folder / name)) {
      if (holds_picture(folder / name / deeper)) return true;
    }
  }
  return false;
}

bool has_usual(const fs::path& data_dir) {
  return !find_usual(data_dir, Split::train).empty() || !find_usual(data_dir, Split::test).empty();
}

/// Whether neither the options nor folders in data_dir name a split.
bool names_no_split(const DatasetOptions& options) {
  const bool is_named = !options.train_split.empty() || !options.val_split.empty();
  return !is_named && is_folder(options.data_dir) && !has_usual(options.data_dir);
}

/// Whether data_dir itself can be the split. Pictures directly in it count for a flat folder of
/// test pictures, or for a task without labels.
bool can_be_split(const DatasetOptions& options, Split split) {
  if (!names_no_split(options)) return false;
  const bool may_be_flat = split == Split::test || !options.labelled;
  return holds_class_folders(options.data_dir) || (may_be_flat && holds_picture(options.data_dir));
}

/// Whether the split consists of data_dir itself.
bool is_split_itself(const DatasetOptions& options, Split split) {
  const bool is_wanted = (split == Split::train) == (options.val_fraction > 0);
  return is_wanted && can_be_split(options, split);
}

/// "train, training".
std::string usual_names_text(Split split) { return join(usual_split_names(split), ", "); }

}  // namespace

const std::vector<std::string>& usual_split_names(Split split) {
  static const std::vector<std::string> train = {"train", "training"};
  static const std::vector<std::string> val = {"val", "validation", "valid", "eval", "evaluation"};
  return split == Split::train ? train : val;
}

std::string split_flag(Split split) {
  return split == Split::train ? "--train-split" : "--val-split";
}

const std::string& wanted_split(const DatasetOptions& options, Split split) {
  return split == Split::train ? options.train_split : options.val_split;
}

fs::path find_split_folder(const DatasetOptions& options, Split split) {
  const std::string& wanted = wanted_split(options, split);
  if (!wanted.empty()) {
    return is_folder(options.data_dir / wanted) ? options.data_dir / wanted : fs::path();
  }
  const fs::path found = find_usual(options.data_dir, split);
  if (!found.empty()) return found;
  return is_split_itself(options, split) ? options.data_dir : fs::path();
}

bool is_one_folder(const DatasetOptions& given) {
  DatasetOptions options = given;
  options.data_dir = data_folder(given);
  return options.val_labels.empty() && can_be_split(options, Split::train);
}

void fail_without_split(const DatasetOptions& options, Split split) {
  const std::string context = options.data_dir.string();
  check(is_folder(options.data_dir), context, ": no such folder, expected the folder of the ",
        "data set; set it with --data-dir or $FOVEA_DATA");
  const std::string& wanted = wanted_split(options, split);
  check(wanted.empty(), context, ": has no folder ", wanted, ", the value of ", split_flag(split));
  const bool has_train = !find_split_folder(options, Split::train).empty();
  const std::vector<std::string> folders = folders_below(options.data_dir);
  constexpr std::size_t most_shown = 5;
  std::vector<std::string> shown;
  for (const std::string& name : folders) {
    if (shown.size() < most_shown) shown.push_back(visible_text(name));
  }
  std::string there = shown.empty() ? "no folders" : join(shown, ", ");
  if (folders.size() > most_shown) there += ", ...";
  const bool one_folder = !has_usual(options.data_dir) && holds_class_folders(options.data_dir);
  const std::string advice =
      has_train ? "--val-fraction 0.1 holds out a tenth of each class's training images instead"
      : one_folder
          ? "if these are the classes, --val-fraction 0.1 holds out a tenth of each for validation"
          : "or set --data-dir";
  fail(context, ": has no folder ", usual_names_text(split), "; found ", there, "; ",
       split_flag(split), " FOLDER sets another, ", advice);
}

}  // namespace fovea
