// The lists of annotation files, checked entry by entry.
#include <algorithm>
#include <cmath>
#include <utility>

#include "data/sources/boxes/coco_file.h"
#include "engine/base/error.h"
#include "engine/base/json_entries.h"

namespace fovea {
namespace {

constexpr std::int64_t kMaxSide = 1'000'000;  // pixels of an image or a box

constexpr std::string_view kImages = "images", kAnnotations = "annotations",
                           kCategories = "categories";
constexpr auto kMembers = std::to_array<EntryMember>({
    {kImages, "id", EntryKind::whole},
    {kImages, "file_name", EntryKind::text},
    {kImages, "height", EntryKind::whole},
    {kImages, "width", EntryKind::whole},
    {kAnnotations, "id", EntryKind::whole},
    {kAnnotations, "image_id", EntryKind::whole},
    {kAnnotations, "category_id", EntryKind::whole},
    {kAnnotations, "bbox", EntryKind::box},
    {kAnnotations, "area", EntryKind::real, false},
    {kAnnotations, "iscrowd", EntryKind::flag, false},
    {kCategories, "id", EntryKind::whole},
    {kCategories, "name", EntryKind::text},
});

std::int64_t whole(const JsonEntry& entry, std::string_view list, std::string_view name) {
  return entry.wholes[find_member(kMembers, list, name)];
}

CocoImage image_of(JsonEntry& entry, const std::string& name) {
  const ImageSize size{whole(entry, kImages, "height"), whole(entry, kImages, "width")};
  const bool fits =
      std::min(size.height, size.width) >= 1 && std::max(size.height, size.width) <= kMaxSide;
  if (!fits) {
    fail(entry_place(name, kImages, entry.number), "got a height of ", size.height,
         " and a width of ", size.width, ", expected 1 to ", kMaxSide, " pixels");
  }
  if (entry.text.empty()) {
    fail(entry_place(name, kImages, entry.number),
         "file_name: got an empty string, expected a picture");
  }
  return {whole(entry, kImages, "id"), size, std::move(entry.text)};
}

CocoAnnotation annotation_of(const JsonEntry& entry, const std::string& name) {
  constexpr std::size_t area = find_member(kMembers, kAnnotations, "area");
  const auto& [x, y, width, height] = entry.box;
  for (const double number : entry.box) {
    if (std::abs(number) > kMaxSide) {
      fail(entry_place(name, kAnnotations, entry.number), "bbox: got ", number,
           ", expected pixels, at most ", kMaxSide);
    }
  }
  if (entry.reals[area] < 0) {
    fail(entry_place(name, kAnnotations, entry.number), "area: got ", entry.reals[area],
         ", expected 0 or more");
  }
  return {whole(entry, kAnnotations, "image_id"),
          {.id = whole(entry, kAnnotations, "id"),
           .label = whole(entry, kAnnotations, "category_id"),
           .x = x,
           .y = y,
           .width = width,
           .height = height,
           .area = entry.seen[area] ? entry.reals[area] : width * height,
           .crowd = whole(entry, kAnnotations, "iscrowd") == 1}};
}

CocoCategory category_of(JsonEntry& entry, const std::string& name) {
  const std::int64_t id = whole(entry, kCategories, "id");
  if (id < 0 || id > kMaxCategoryId) {
    fail(entry_place(name, kCategories, entry.number), "id: got ", id, ", expected 0 to ",
         kMaxCategoryId);
  }
  return {id, std::move(entry.text)};
}

}  // namespace

CocoLists parse_coco_lists(const ByteSource& bytes, const std::string& name) {
  CocoLists lists;
  read_json_entries(bytes, name, kMembers, [&](std::string_view list, JsonEntry& entry) {
    if (list == kImages) {
      lists.images.push_back(image_of(entry, name));
    } else if (list == kAnnotations) {
      lists.annotations.push_back(annotation_of(entry, name));
    } else {
      lists.categories.push_back(category_of(entry, name));
    }
  });
  return lists;
}

}  // namespace fovea
