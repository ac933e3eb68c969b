// Boxes to train on, the size check, and subsets of detection sets.
#include "data/sources/boxes/detection_set.h"

#include <algorithm>
#include <utility>

#include "data/sources/image_subset.h"
#include "data/sources/orientation.h"
#include "engine/base/error.h"

namespace fovea {
namespace {

class DetectionSubset : public ImageSubset<DetectionSet> {
 public:
  using ImageSubset::ImageSubset;

  [[nodiscard]] const std::vector<std::int64_t>& category_ids() const override {
    return whole().category_ids();
  }
  [[nodiscard]] CategoryIds stored_ids() const override { return whole().stored_ids(); }
  [[nodiscard]] std::vector<Annotation> annotations(std::int64_t index) const override {
    return whole().annotations(old_index(index));
  }
  [[nodiscard]] std::int64_t image_id(std::int64_t index) const override {
    return whole().image_id(old_index(index));
  }
  [[nodiscard]] ImageSize stored_size(std::int64_t index) const override {
    return whole().stored_size(old_index(index));
  }
};

}  // namespace

Sample DetectionSet::get(std::int64_t index) const {
  Sample sample = FileDataset::get(index);
  check_size(index, sample.image.size());
  return sample;
}

Sample DetectionSet::get(std::int64_t index, const ChooseBox& choose, ImageSize shrink_to) const {
  const ChooseBox checked = [&](ImageSize size) {
    check_size(index, size);
    return choose(size);
  };
  return FileDataset::get(index, checked, shrink_to);
}

ImageTargets DetectionSet::targets(std::int64_t index) const {
  return {training_boxes(annotations(index), stored_size(index)), {}};
}

void DetectionSet::check_size(std::int64_t index, ImageSize found) const {
  const ImageSize stated = stored_size(index);
  if (found == stated) return;
  throw ImageError(describe(index) + ": the picture is " + to_string(found) +
                   " (height x width), but its annotations are for " + to_string(stated) +
                   ", so the boxes do not fit it" + orientation_cause(*this, index, found, stated));
}

std::vector<ObjectBox> training_boxes(const std::vector<Annotation>& annotations, ImageSize size) {
  const auto right = static_cast<double>(size.width), bottom = static_cast<double>(size.height);
  std::vector<ObjectBox> boxes;
  for (const Annotation& object : annotations) {
    if (object.crowd) continue;
    const ObjectBox box{static_cast<float>(std::clamp(object.x, 0.0, right)),
                        static_cast<float>(std::clamp(object.y, 0.0, bottom)),
                        static_cast<float>(std::clamp(object.x + object.width, 0.0, right)),
                        static_cast<float>(std::clamp(object.y + object.height, 0.0, bottom)),
                        object.label};
    if (box.width() > 0 && box.height() > 0) boxes.push_back(box);
  }
  return boxes;
}

std::shared_ptr<const DetectionSet> require_boxes(const std::shared_ptr<const Dataset>& dataset,
                                                  const std::string& who) {
  auto boxes = std::dynamic_pointer_cast<const DetectionSet>(dataset);
  check(boxes != nullptr, who,
        ": the data set has labels but no boxes, expected --dataset scenes, ", "coco or voc");
  return boxes;
}

std::shared_ptr<const DetectionSet> images_of(std::shared_ptr<const DetectionSet> whole,
                                              std::vector<std::int64_t> images,
                                              std::string notice) {
  return std::make_shared<DetectionSubset>(std::move(whole), std::move(images), std::move(notice));
}

}  // namespace fovea
