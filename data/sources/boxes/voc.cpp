// Joins lists of images with their annotations.
#include "data/sources/boxes/voc.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "data/sources/boxes/voc_file.h"
#include "data/sources/files/find_ignoring_case.h"
#include "data/sources/files/split_folders.h"
#include "engine/base/error.h"
#include "engine/base/files.h"
#include "engine/base/names.h"
#include "engine/base/text.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kMaxBytes = std::uintmax_t{1} << 24;  // of an annotation file

/// The annotations of a folder by stem.
using VocFiles = std::map<std::string, VocFile>;

VocFiles read_annotations(const fs::path& folder) {
  check(is_folder(folder), folder.string(), ": no such folder, expected PASCAL VOC's layout: ",
        "Annotations/, JPEGImages/ and ImageSets/Main/");
  VocFiles files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const fs::path& path = entry.path();
    if (lowercase_ending(path.string()) != ".xml" || !entry.is_regular_file()) continue;
    check(entry.file_size() <= kMaxBytes, path.string(), ": has ", entry.file_size(),
          " bytes, expected an annotation of at most ", kMaxBytes);
    files.emplace(path.stem().string(), parse_voc(read_file(path), visible_text(path.string())));
  }
  check(!files.empty(), folder.string(), ": contains no annotations, expected one .xml per image");
  return files;
}

/// The file that lists the images of the split; empty if all annotations belong to it.
fs::path find_list(const DatasetOptions& options, Split split) {
  const fs::path folder = options.data_dir / "ImageSets" / "Main";
  const auto file = [&](const std::string& name) { return folder / (name + ".txt"); };
  const std::string& wanted = wanted_split(options, split);
  if (!wanted.empty()) {
    check(is_file(file(wanted)), split_flag(split), ": ", file(wanted).string(),
          ": no such file, expected a list of images");
    return file(wanted);
  }
  const bool tests = is_file(file("test"));
  std::string usual = tests ? "test" : "val";
  if (split == Split::train) usual = tests && is_file(file("trainval")) ? "trainval" : "train";
  if (is_file(file(usual))) return file(usual);
  check(split == Split::train && !is_folder(folder), file(usual).string(),
        ": no such file, expected a list of images, one name per line",
        split == Split::test ? "; --val-fraction holds out training images instead" : "");
  return {};
}

/// The names of a list: the first word of each line, as some lists have a second column.
std::vector<std::string> listed_stems(const fs::path& list, const VocFiles& files) {
  std::vector<std::string> stems;
  if (list.empty()) {
    for (const auto& [stem, file] : files) stems.push_back(stem);
    return stems;
  }
  std::set<std::string> seen;
  const std::vector<std::string> lines = lines_of(read_file(list));
  for (std::size_t k = 0; k < lines.size(); ++k) {
    const std::vector<std::string> words = split_words(lines[k]);
    if (words.empty()) continue;
    const std::string context = list.string() + ", line " + std::to_string(k + 1) + ": ";
    check(files.contains(words[0]), context, "lists ", visible_text(words[0]),
          ", but there is no Annotations/", visible_text(words[0]), ".xml");
    check(seen.insert(words[0]).second, context, "lists ", visible_text(words[0]), " twice");
    stems.push_back(words[0]);
  }
  check(!stems.empty(), list.string(), ": lists no images, expected one name per line");
  return stems;
}

ClassList classes_of(const DatasetOptions& options, const VocFiles& files) {
  if (!options.class_map.empty()) return read_class_map(options.class_map, options.data_dir);
  std::set<std::string> names;
  for (const auto& [stem, file] : files)
    for (const VocObject& object : file.objects) names.insert(object.name);
  check(!names.empty(), (options.data_dir / "Annotations").string(),
        ": no annotation has an object, expected at least one");
  return {{names.begin(), names.end()}, "voc"};
}

/// Appends the objects of a file; ids continue after `last`.
std::vector<Annotation> annotations_of(const VocFile& file, const ClassList& classes,
                                       const std::string& context, std::int64_t& last) {
  std::vector<Annotation> all;
  for (const VocObject& object : file.objects) {
    const auto label = classes.find(object.name);
    check(label.has_value(), context, ": the class \"", visible_text(object.name),
          "\" is not in the class map", did_you_mean(object.name, classes.ids()));
    all.push_back({.id = ++last,
                   .label = *label,
                   .x = object.x,
                   .y = object.y,
                   .width = object.width,
                   .height = object.height,
                   .area = std::max(0.0, object.width) * std::max(0.0, object.height),
                   .crowd = object.difficult});
  }
  return all;
}

/// Whether a corner is at pixel 0 of its file, where PASCAL VOC counts from 1.
bool begins_at_zero(const Annotation& object) { return object.x == -1 || object.y == -1; }

}  // namespace

Voc::Voc(const DatasetOptions& options, Split split)
    : DetectionSet(options.exif_orientation), folder_(options.data_dir) {
  const VocFiles files = read_annotations(folder_ / "Annotations");
  check(is_folder(folder_ / "JPEGImages"), (folder_ / "JPEGImages").string(),
        ": no such folder, expected the pictures");
  const ClassList classes = classes_of(options, files);
  for (const std::string& id : classes.ids()) {
    ids_.push_back(std::ssize(names_));
    names_.push_back(visible_text(id));
  }
  std::int64_t last = 0;
  for (const std::string& stem : listed_stems(find_list(options, split), files)) {
    const VocFile& file = files.at(stem);
    images_.push_back(
        {stem, file.size, annotations_of(file, classes, visible_text(stem) + ".xml", last)});
  }
  note_boxes_from_zero();
}

void Voc::note_boxes_from_zero() {
  std::int64_t from_zero = 0, objects = 0;
  for (const Image& image : images_) {
    objects += std::ssize(image.objects);
    from_zero += std::ranges::count_if(image.objects, begins_at_zero);
  }
  if (from_zero == 0) return;
  notice_ = concat(folder_.string(), ": ", from_zero, " of ", objects,
                   " boxes begin at pixel 0, but PASCAL VOC counts from 1: if all were counted ",
                   "from 0, they lie a pixel too far left and above");
}

const Voc::Image& Voc::at(std::int64_t index) const {
  check_index(index, "voc");
  return images_[index];
}

std::vector<Annotation> Voc::annotations(std::int64_t index) const { return at(index).objects; }

/// The picture with any ending that this build reads; JPEG first.
fs::path Voc::picture(std::int64_t index) const {
  const fs::path usual = folder_ / "JPEGImages" / (at(index).stem + ".jpg");
  if (is_file(usual)) return usual;
  for (const std::string& ending : picture_endings()) {
    const fs::path other = folder_ / "JPEGImages" / (at(index).stem + ending);
    if (is_file(other)) return other;
  }
  return usual;
}

std::optional<std::string> Voc::file(std::int64_t index) const { return read_file(picture(index)); }

std::string Voc::describe(std::int64_t index) const {
  return visible_text(picture(index).string());
}

void Voc::list_entry(std::int64_t index, ListEntry& entry) const {
  entry.name += at(index).stem;
  entry.label = 0;
}

}  // namespace fovea
