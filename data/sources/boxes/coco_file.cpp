// Sorts the lists of a file by id and joins them.
#include "data/sources/boxes/coco_file.h"

#include <algorithm>
#include <utility>

#include "engine/base/error.h"

namespace fovea {
namespace {

/// Sorts the entries by id. Throws if an id occurs twice.
template <class Entry>
void sort_by_id(std::vector<Entry>& entries, const std::string& what) {
  const auto before = [](const Entry& a, const Entry& b) { return a.id < b.id; };
  std::stable_sort(entries.begin(), entries.end(), before);
  const auto twice = std::adjacent_find(
      entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.id == b.id; });
  if (twice != entries.end()) fail(what, ": the id ", twice->id, " occurs twice");
}

/// The place of an id in sorted entries, or -1.
template <class Entry>
std::int64_t place_of(const std::vector<Entry>& entries, std::int64_t id) {
  const auto found = std::lower_bound(entries.begin(), entries.end(), id,
                                      [](const Entry& a, std::int64_t b) { return a.id < b; });
  return found != entries.end() && found->id == id ? found - entries.begin() : -1;
}

}  // namespace

CocoFile::CocoFile(CocoLists lists, const std::string& name)
    : images_(std::move(lists.images)), categories_(std::move(lists.categories)) {
  check(!images_.empty(), name, ": has no images, expected at least one");
  check(!categories_.empty(), name, ": has no categories, expected at least one");
  sort_by_id(images_, name + ": images");
  sort_by_id(categories_, name + ": categories");
  std::vector<std::int64_t> image_of(lists.annotations.size());
  first_.assign(images_.size() + 1, 0);
  for (std::size_t k = 0; k < lists.annotations.size(); ++k) {
    const CocoAnnotation& annotation = lists.annotations[k];
    image_of[k] = place_of(images_, annotation.image_id);
    if (image_of[k] < 0)
      fail(name, ": annotations[", k, "]: image_id: got ", annotation.image_id,
           ", which is not the id of an image");
    if (place_of(categories_, annotation.object.label) < 0)
      fail(name, ": annotations[", k, "]: category_id: got ", annotation.object.label,
           ", which is not the id of a category");
    ++first_[image_of[k] + 1];
  }
  for (std::size_t i = 0; i < images_.size(); ++i) first_[i + 1] += first_[i];
  std::vector<std::int64_t> next = first_;
  objects_.resize(lists.annotations.size());
  for (std::size_t k = 0; k < lists.annotations.size(); ++k)
    objects_[next[image_of[k]]++] = lists.annotations[k].object;
}

std::span<const Annotation> CocoFile::objects(std::int64_t index) const {
  const auto first = first_.at(index), end = first_.at(index + 1);
  return std::span(objects_).subspan(first, end - first);
}

CocoFile read_coco_file(const std::filesystem::path& path) {
  const std::string name = path.string();
  return {parse_coco_lists(InputFile(path), name), name};
}

}  // namespace fovea
