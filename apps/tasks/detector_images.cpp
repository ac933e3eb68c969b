// Opening the images of a detector, and writing what it found.
#include "apps/tasks/detector_images.h"

#include "engine/base/error.h"
#include "models/detection/coco_results.h"

namespace fovea {
namespace {

void require_classes_of(const LoadedModel& trained, const DetectionSet& images) {
  const std::int64_t classes = trained.model->info().num_classes;
  check(images.classes() == classes, trained.weights.string(), ": the model has ", classes,
        " classes, but the data set has ", images.classes(),
        "; a detector needs boxes of its own classes");
  if (!trained.names_classes) return;
  for (std::size_t k = 0; k < trained.info.classes.size(); ++k) {
    const std::string &learned = trained.info.classes[k], &own = images.class_names()[k];
    check(learned == own, trained.weights.string(), ": class ", k, " is ", learned,
          ", but in the data set it is ", own);
  }
}

}  // namespace

std::shared_ptr<const DetectionSet> open_detection_set(const DatasetOptions& options,
                                                       const std::string& split,
                                                       const LoadedModel& trained) {
  auto images = require_boxes(open_dataset(options, split == "train" ? Split::train : Split::test),
                              "evaluate");
  require_classes_of(trained, *images);
  return images;
}

std::string coco_results(const std::vector<FoundObject>& objects, const DetectionSet& images) {
  std::vector<ScoredBox> boxes;
  for (const FoundObject& object : objects) {
    boxes.push_back(object.where);
    boxes.back().image = images.image_id(object.where.image);
  }
  return format_coco_results(boxes);
}

}  // namespace fovea
