// The settings of the detection task.
#include "data/sources/detection_set.h"
#include "train/tasks/detection.h"

namespace fovea {
namespace {

/// Throws unless the evaluation shows the detector the whole image, by which its boxes count.
void check_crop(const EvaluationCrop& crop) {
  const bool is_whole =
      crop.mode == CropMode::keep || (crop.mode == CropMode::squash && crop.crop_pct == 1);
  check_usage(is_whole, "--crop-mode: got ", name_of(crop.mode), " with --crop-pct ", crop.crop_pct,
              ", expected keep, or squash with 1: boxes belong to the whole image");
}

}  // namespace

std::unique_ptr<TaskSettings> DetectionSettings::clone() const {
  return std::make_unique<DetectionSettings>(*this);
}

void DetectionSettings::add_fields(Fields& fields, TrainConfig& config) {
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

std::unique_ptr<const Task> DetectionSettings::make(const TrainConfig&, Model& model,
                                                    const Dataset* images) const {
  Notices notices;
  if (images != nullptr) check_boxes(*images, model, notices);
  return std::make_unique<Detection>(options, model, notices);
}

}  // namespace fovea
