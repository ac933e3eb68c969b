// Draws scenes, and states their objects as annotations.
#include "data/sources/drawn/scenes.h"

#include "data/sources/drawn/builtin_drawing.h"
#include "engine/base/error.h"

namespace fovea {
namespace {

constexpr std::uint64_t kScenes = 0x7363656E6573;  // "scenes"
constexpr std::uint64_t kLayout = 0, kPaint = 1;
constexpr std::int64_t kMinSide = 32, kMaxSide = 1024;

std::vector<Annotation> annotations_of(const drawing::Scene& scene, std::int64_t index) {
  std::vector<Annotation> all;
  for (const drawing::SceneObject& object : scene.objects) {
    const PixelBox& box = object.box;
    const auto width = static_cast<double>(box.right - box.left);
    const auto height = static_cast<double>(box.bottom - box.top);
    all.push_back({.id = index * drawing::kMaxObjects + std::ssize(all) + 1,
                   .label = object.label,
                   .x = static_cast<double>(box.left),
                   .y = static_cast<double>(box.top),
                   .width = width,
                   .height = height,
                   .area = width * height});
  }
  return all;
}

}  // namespace

Scenes::Scenes(Split split, SceneOptions options)
    : split_(split),
      seed_(options.seed),
      side_(options.side),
      size_(split == Split::train ? options.train_size : options.test_size) {
  check(size_ >= 1, "scenes: got a size of ", size_, ", expected 1 or more");
  check(side_ >= kMinSide && side_ <= kMaxSide, "scenes: got a side of ", side_,
        " pixels, expected ", kMinSide, " to ", kMaxSide);
}

const std::vector<std::string>& Scenes::class_names() const {
  static const std::vector<std::string> names = [] {
    const std::vector<std::string>& all = drawing::ClassForm::names();
    return std::vector<std::string>(all.begin(), all.begin() + drawing::ClassForm::kShapes);
  }();
  return names;
}

const std::vector<std::int64_t>& Scenes::category_ids() const {
  static const std::vector<std::int64_t> ids = [] {
    std::vector<std::int64_t> all;
    for (std::int64_t id = 0; id < drawing::ClassForm::kShapes; ++id) all.push_back(id);
    return all;
  }();
  return ids;
}

Rng Scenes::generator(std::int64_t index, std::uint64_t part) const {
  check_index(index, "scenes");
  const std::uint64_t split = 2 * static_cast<std::uint64_t>(split_) + part;
  return Rng(seed_, stream_of(kScenes, split, static_cast<std::uint64_t>(index)));
}

drawing::Scene Scenes::layout(std::int64_t index) const {
  Rng rng = generator(index, kLayout);
  return drawing::lay_out_scene(side_, rng);
}

std::vector<Annotation> Scenes::annotations(std::int64_t index) const {
  return annotations_of(layout(index), index);
}

ImageSize Scenes::stored_size(std::int64_t index) const {
  Rng rng = generator(index, kLayout);
  return drawing::draw_scene_size(side_, rng);
}

Sample Scenes::get(std::int64_t index) const {
  const drawing::Scene scene = layout(index);
  Rng rng = generator(index, kPaint);
  return {drawing::paint_scene(scene, rng),
          0,
          {training_boxes(annotations_of(scene, index), scene.size), {}}};
}

Sample Scenes::get(std::int64_t index, const ChooseBox& choose, ImageSize shrink_to) const {
  return Dataset::get(index, choose, shrink_to);
}

void Scenes::list_entry(std::int64_t index, ListEntry& entry) const {
  entry.name.append(std::to_string(seed_)).append("/").append(std::to_string(index));
  entry.label = 0;
}

}  // namespace fovea
