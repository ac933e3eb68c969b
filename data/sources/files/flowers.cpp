// Finds and checks the files of Oxford's flowers.
#include "data/sources/files/flowers.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "data/classes/class_list.h"
#include "data/sources/files/find_ignoring_case.h"
#include "data/sources/files/matlab_split_lists.h"
#include "data/sources/files/split_folders.h"
#include "data/sources/subset.h"
#include "engine/base/error.h"
#include "engine/base/files.h"
#include "engine/base/lists.h"
#include "engine/base/text.h"
#include "engine/formats/matlab.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMaxPictures = 99'999;  // file names have five digits

const std::vector<std::string>& lists() {
  static const std::vector<std::string> names = {"trnid", "valid", "tstid"};
  return names;
}

/// The lists that make up a split.
std::vector<std::string> lists_of(const DatasetOptions& options, Split split) {
  const std::string& wanted = wanted_split(options, split);
  if (wanted.empty()) {
    return split == Split::train ? std::vector<std::string>{"trnid", "valid"}
                                 : std::vector<std::string>{"tstid"};
  }
  const std::vector<std::string> names = split_words(wanted, "+, ");
  for (const std::string& name : names) {
    const bool known = std::find(lists().begin(), lists().end(), name) != lists().end();
    check(known, split_flag(split), ": got ", visible_text(name),
          ", expected lists of setid.mat: trnid, valid, tstid or several, as in trnid+valid");
  }
  return names;
}

/// Throws if a list belongs to both splits.
void check_apart(const DatasetOptions& options) {
  if (options.val_fraction > 0) return;  // the test images come from the training split
  const std::vector<std::string> train = lists_of(options, Split::train);
  for (const std::string& name : lists_of(options, Split::test)) {
    const bool shared = std::find(train.begin(), train.end(), name) != train.end();
    check(!shared, "--val-split: the list ", name, " is part of the training split, ",
          join(train, "+"), "; --train-split names other lists");
  }
}

/// The class of each picture, from 0 on.
std::vector<std::int64_t> read_labels(const fs::path& path) {
  const MatlabFile file(read_file(path), path.string());
  const std::string name = "labels";
  const Shape shape = [&] {
    for (const auto& variable : file.variables())
      if (variable.name == name) return variable.shape;
    fail(path.string(), ": has no variable \"labels\", expected the class of each picture");
  }();
  check(shape.rank() == 2 && shape[0] == 1 && shape[1] >= 1 && shape[1] <= kMaxPictures,
        path.string(), ": its labels have shape ", shape, ", expected one row, [1, 8189]");
  std::vector<std::int64_t> labels;
  for (const double value : file.read(name).to_vector()) {
    const auto label = static_cast<std::int64_t>(value);
    check(value >= 1 && value <= kFlowerClasses && value == static_cast<double>(label),
          path.string(), ": picture ", labels.size() + 1, " has the label ", general_text(value, 6),
          ", expected 1 to ", kFlowerClasses);
    labels.push_back(label - 1);
  }
  return labels;
}

std::string file_name(std::int64_t number) {
  return printf_text("image_%05d.jpg", static_cast<int>(number + 1));
}

}  // namespace

fs::path find_flowers(const DatasetOptions& options) {
  return folder_with(options.data_dir, {"flowers-102", "flowers102", "oxford-102-flowers"},
                     "setid.mat");
}

Flowers::Flowers(const DatasetOptions& options, Split split)
    : FileDataset(options.exif_orientation), root_(find_flowers(options)) {
  check(!root_.empty(), options.data_dir.string(), ": has no setid.mat");
  check(is_file(root_ / "imagelabels.mat"), root_.string(), ": has setid.mat, but no ",
        "imagelabels.mat, expected the three official files: jpg/, imagelabels.mat, setid.mat");
  check_apart(options);
  const std::vector<std::int64_t> labels = read_labels(root_ / "imagelabels.mat");
  std::vector<std::int64_t> numbers;
  const std::vector<std::string> wanted = lists_of(options, split);
  for (const auto& [name, list] :
       read_matlab_split_lists(root_ / "setid.mat", lists(), std::ssize(labels))) {
    const bool is_wanted = std::find(wanted.begin(), wanted.end(), name) != wanted.end();
    if (is_wanted) numbers.insert(numbers.end(), list.begin(), list.end());
  }
  std::sort(numbers.begin(), numbers.end());
  for (const std::int64_t number : numbers) images_.push_back({number, labels[number]});
  names_.assign(flower_names().begin(), flower_names().end());
  check_pictures();
  constexpr std::int64_t official = 8189;
  if (std::ssize(labels) != official) {
    notice_ =
        concat(root_.string(), ": ", labels.size(), " pictures, the official set has ", official);
  }
}

/// Throws if a picture of the split is missing.
void Flowers::check_pictures() const {
  check(!images_.empty(), root_.string(), ": the split has no pictures");
  std::vector<std::string> missing;
  for (const Picture& picture : images_) {
    const std::string name = file_name(picture.number);
    if (!is_file(root_ / "jpg" / name)) missing.push_back(name);
  }
  if (missing.empty()) return;
  check(is_folder(root_ / "jpg"), root_.string(), ": has no folder jpg with the pictures",
        is_file(root_ / "102flowers.tgz") ? "; unpack 102flowers.tgz there: tar xf 102flowers.tgz"
                                          : ", the content of 102flowers.tgz");
  fail((root_ / "jpg").string(), ": lacks ", missing.size(), " of ", size(),
       " pictures: ", first_few(missing));
}

const Flowers::Picture& Flowers::at(std::int64_t index) const {
  check_index(index, root_.string());
  return images_[static_cast<std::size_t>(index)];
}

std::int64_t Flowers::label(std::int64_t index) const { return at(index).label; }

std::string Flowers::describe(std::int64_t index) const {
  return (root_ / "jpg" / file_name(at(index).number)).string();
}

std::optional<std::string> Flowers::file(std::int64_t index) const {
  return read_file(describe(index));
}

void Flowers::list_entry(std::int64_t index, ListEntry& entry) const {
  entry.name += file_name(at(index).number);
  entry.label = at(index).label;
}

void require_flower_folders(const DatasetOptions& options, Split split) {
  const bool has_folder = !find_split_folder(options, split).empty();
  check(has_folder || is_folder(options.data_dir), options.data_dir.string(),
        ": no such folder, expected the folder of the data set; set it with --data-dir or ",
        "$FOVEA_DATA");
  check(
      has_folder, options.data_dir.string(), ": contains neither the official files of the ",
      "flowers (jpg/, imagelabels.mat, setid.mat) nor a folder of classes for the split, such as ",
      usual_split_names(split).front(), "/");
}

std::shared_ptr<const Dataset> named_flowers(std::shared_ptr<const Dataset> set,
                                             const DatasetOptions& options) {
  check(set->classes() == kFlowerClasses, options.data_dir.string(), ": has ", set->classes(),
        " class folders, expected ", kFlowerClasses, "; --dataset folder reads any classes");
  const std::vector<std::int64_t> numbers = all_numbers(set->class_names());
  std::vector<std::int64_t> official(kFlowerClasses), same(kFlowerClasses);
  std::iota(official.begin(), official.end(), 1);
  std::iota(same.begin(), same.end(), 0);
  if (numbers != official) return set;
  return relabelled(std::move(set), same, {flower_names().begin(), flower_names().end()});
}

}  // namespace fovea
