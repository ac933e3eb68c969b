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
  const std::int64_t queries = dynamic_cast<const Detector&>(model).num_queries();
  const DetectionFindings found =
      check_detection_set(*boxes, {model.info().num_classes, from_nothing, queries});
  check(found.errors.empty(), config.data.name, ": ", join(found.errors, "; "));
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

/// Rows of training and evaluation are padded alike.
Access<std::int64_t> both(std::int64_t* training, std::int64_t* evaluation) {
  return {[=] { return *training; }, [=](std::int64_t value) { *training = *evaluation = value; }};
}

class DetectionSettings : public TaskSettingsOf<DetectionSettings, TaskKind::detection> {
 public:
  void add_fields(Fields& fields, TrainConfig& config) override {
    add_detector_fields(fields, config.weights);
    FieldGroup(fields, "Data")
        .number("pad-multiple",
                both(&config.images.loader.rows.pad_multiple, &config.evaluation.pad_multiple),
                "pad the images of a batch to one size, a multiple of this many pixels; 0: all "
                "have the model's size",
                {0, 1024});
    FieldGroup(fields, "Pictures after each epoch")
        .number("threshold", &options_.threshold, "minimum score of the boxes that are drawn",
                {0, 1});
  }
  void check(const TrainConfig& config) const override { check_crop(config.evaluation.crop); }
  [[nodiscard]] TaskInfo info(const TrainConfig&) const override { return detection_info(); }
  [[nodiscard]] std::unique_ptr<const Task> make(const TrainConfig& config, Model& model,
                                                 const Dataset* images) const override {
    const Notices notices = images == nullptr ? Notices() : check_images(config, model, *images);
    return std::make_unique<Detection>(options_, model, notices);
  }

 private:
  DetectionOptions options_;
};

}  // namespace

std::unique_ptr<TaskSettings> detection_settings() { return std::make_unique<DetectionSettings>(); }

}  // namespace fovea
