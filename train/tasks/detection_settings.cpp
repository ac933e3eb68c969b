// The settings of the detection task.
#include "data/sources/boxes/detection_check.h"
#include "engine/base/text.h"
#include "train/tasks/detection.h"

namespace fovea {
namespace {

/// Throws if the training images have no boxes, or boxes that cannot be right; returns what else is
/// unusual about them.
Notices check_images(const TrainConfig& config, const Model& model, const Dataset& images) {
  const auto* const boxes = dynamic_cast<const DetectionSet*>(&images);
  check(boxes != nullptr, "--dataset: ", config.data.name,
        " has no boxes, expected scenes, coco or voc");
  const InitialWeights& weights = config.weights;
  const bool from_nothing =
      weights.finetune.empty() && weights.checkpoint.empty() && weights.backbone.empty();
  const DetectionFindings found =
      check_detection_set(*boxes, {model.info().num_classes, from_nothing});
  check(found.errors.empty(), config.data.name, ": ", joined(found.errors, "; "));
  Notices notices;
  for (const std::string& notice : found.notices) notices.add(notice);
  return notices;
}

/// Throws unless the evaluation shows the detector the whole image, by which its boxes count.
void check_crop(const EvaluationCrop& crop) {
  const bool is_whole = crop.mode == CropMode::keep || crop.mode == CropMode::detr ||
                        (crop.mode == CropMode::squash && crop.crop_pct == 1);
  check_usage(is_whole, "--crop-mode: got ", name_of(crop.mode), " with --crop-pct ", crop.crop_pct,
              ", expected keep, detr, or squash with 1: boxes belong to the whole image");
}

}  // namespace

std::unique_ptr<TaskSettings> DetectionSettings::clone() const {
  return std::make_unique<DetectionSettings>(*this);
}

void DetectionSettings::add_fields(Fields& fields, TrainConfig& config) {
  add_detector_fields(fields, config.weights);
  FieldGroup data(fields, "Data");
  std::int64_t& training = config.images.loader.rows.pad_multiple;
  std::int64_t& evaluation = config.evaluation.pad_multiple;
  data.number("pad-multiple",
              Access<std::int64_t>([&training] { return training; },
                                   [&training, &evaluation](const std::int64_t& value) {
                                     training = evaluation = value;
                                   }),
              "pad the images of a batch to one size, a multiple of this many pixels; 0: all have "
              "the model's size",
              {0, 1024});
  FieldGroup pictures(fields, "Pictures after each epoch");
  pictures.number("threshold", &options.threshold, "least score of the boxes that are drawn",
                  {0, 1});
}

void DetectionSettings::check(const TrainConfig& config) const {
  check_crop(config.evaluation.crop);
}

TaskInfo DetectionSettings::info(const TrainConfig&) const { return detection_info(); }

std::unique_ptr<const Task> DetectionSettings::make(const TrainConfig& config, Model& model,
                                                    const Dataset* images) const {
  const Notices notices = images == nullptr ? Notices() : check_images(config, model, *images);
  return std::make_unique<Detection>(options, model, notices);
}

}  // namespace fovea
