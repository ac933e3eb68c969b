// Finds the folder of pictures and the annotation file of a split.
#include "data/sources/boxes/coco.h"

#include <map>
#include <string_view>
#include <utility>

#include "data/sources/files/find_ignoring_case.h"
#include "engine/base/error.h"
#include "engine/base/files.h"
#include "engine/base/lists.h"
#include "engine/base/text.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMaxOutput = 65'535;

/// The names of a split in the official layout and in flags.
struct SplitNames {
  std::string_view official, folder_flag, file_flag;
};
SplitNames names_of_split(Split split) {
  if (split == Split::train) return {"train2017", "--train-split", "--annotations"};
  return {"val2017", "--val-split", "--val-annotations"};
}

fs::path annotation_file(const DatasetOptions& options, Split split) {
  const fs::path& given = split == Split::train ? options.annotations : options.val_annotations;
  if (!given.empty()) return beside_or_below(given, options.data_dir);
  const SplitNames names = names_of_split(split);
  const std::string usual = "instances_" + std::string(names.official) + ".json";
  const fs::path file = options.data_dir / "annotations" / usual;
  check(fs::exists(file), file.string(), ": no such file, expected the annotations of COCO; ",
        names.file_flag, " names another file");
  return file;
}

fs::path picture_folder(const DatasetOptions& options, Split split) {
  const std::string& given = split == Split::train ? options.train_split : options.val_split;
  const SplitNames names = names_of_split(split);
  fs::path folder = options.data_dir / (given.empty() ? fs::path(names.official) : fs::path(given));
  check(fs::is_directory(folder), folder.string(), ": no such folder, expected the pictures of ",
        "the annotation file; ", names.folder_flag, " names another folder, such as . for ",
        "pictures in the data folder itself");
  return folder;
}

std::vector<std::int64_t> ids_in(const CocoFile& file) {
  std::vector<std::int64_t> ids;
  for (const CocoCategory& category : file.categories()) ids.push_back(category.id);
  return ids;
}

/// The ids that are numbered: the given ones, or those of training, also for validation images.
std::vector<std::int64_t> numbered_ids(const DatasetOptions& options, Split split,
                                       const CocoFile& own) {
  if (!options.category_ids.empty()) return options.category_ids;
  if (split == Split::train) return ids_in(own);
  return ids_in(read_coco_file(annotation_file(options, Split::train)));
}

}  // namespace

Coco::Coco(const DatasetOptions& options, Split split)
    : DetectionSet(options.exif_orientation),
      folder_(picture_folder(options, split)),
      file_(read_coco_file(annotation_file(options, split))) {
  if (options.compact_ids) stored_ = CategoryIds(numbered_ids(options, split, file_));
  number_categories(options, split);
  note_pictures_listed_twice();
}

void Coco::number_categories(const DatasetOptions& options, Split split) {
  const std::string name = annotation_file(options, split).string();
  for (const CocoCategory& category : file_.categories()) {
    const std::int64_t number = stored_.number_of(category.id);
    check(number >= 0, name, ": the category ", category.id, " (", visible_text(category.name),
          ") is not one of training, whose ids --compact-ids numbers");
    check(number <= kMaxOutput, name, ": the category id ", category.id,
          " is too large for the number of an output, expected at most ", kMaxOutput,
          "; --compact-ids numbers the categories 1 to ", file_.categories().size());
    ids_.push_back(number);
  }
  for (std::int64_t id = 0; id <= ids_.back(); ++id)
    names_.push_back("unused " + std::to_string(id));
  for (std::size_t k = 0; k < ids_.size(); ++k)
    names_[ids_[k]] = visible_text(file_.categories()[k].name);
}

void Coco::note_pictures_listed_twice() {
  std::map<std::string, std::int64_t> ids;
  std::vector<std::string> twice;
  for (const CocoImage& image : file_.images()) {
    const std::string name = fs::path(image.file_name).lexically_normal().string();
    const auto [first, is_new] = ids.emplace(name, image.id);
    if (is_new) continue;
    twice.push_back(concat(visible_text(name), " (", first->second, " and ", image.id, ")"));
  }
  if (twice.empty()) return;
  notice_ = concat(folder_.string(), ": ", twice.size(),
                   twice.size() == 1 ? " picture is" : " pictures are",
                   " listed under two ids, each with a part of the objects: ", first_few(twice));
}

const CocoImage& Coco::at(std::int64_t index) const {
  check_index(index, "coco");
  return file_.images()[index];
}

std::vector<Annotation> Coco::annotations(std::int64_t index) const {
  static_cast<void>(at(index));
  const std::span<const Annotation> listed = file_.objects(index);
  std::vector<Annotation> objects(listed.begin(), listed.end());
  for (Annotation& object : objects) object.label = stored_.number_of(object.label);
  return objects;
}

std::optional<std::string> Coco::file(std::int64_t index) const {
  return read_file(folder_ / at(index).file_name);
}

std::string Coco::describe(std::int64_t index) const {
  return visible_text((folder_ / at(index).file_name).string());
}

void Coco::list_entry(std::int64_t index, ListEntry& entry) const {
  entry.name += at(index).file_name;
  entry.label = 0;
}

}  // namespace fovea
