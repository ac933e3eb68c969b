// The detection task: a detector learns to give each object of an image to one of its queries
// (Carion et al. 2020; Zhu et al. 2021).
#pragma once

#include "models/detection/set_loss.h"
#include "models/detector.h"
#include "train/loop/task.h"
#include "train/settings/config.h"
#include "train/settings/task_settings.h"
#include "train/tasks/detector_evaluation.h"

namespace fovea {

struct DetectionOptions {
  double threshold = 0.5;  ///< minimum score of the detections in the pictures after an epoch
};

/// The settings --pad-multiple and --threshold. Its tasks refuse images without boxes, or with
/// boxes that cannot be right.
[[nodiscard]] std::unique_ptr<TaskSettings> detection_settings();

/// An evaluation measures the loss and COCO's twelve numbers, which are NaN if there are no objects
/// to average over.
[[nodiscard]] TaskInfo detection_info();

/// The metrics of an evaluation.
[[nodiscard]] Scores detection_scores(double loss, const AveragePrecision& precision);

class Detection : public Task {
 public:
  /// Throws unless the model is a detector. `notices` are about the training images.
  Detection(const DetectionOptions& options, Model& model, Notices notices = {});

  [[nodiscard]] const TaskInfo& info() const override { return info_; }
  /// Boxes stay on the CPU, where they are matched; a mask that hides nothing is removed.
  [[nodiscard]] Batch prepare(Batch batch, const BatchPlace& place) const override;
  /// The number of objects, and of queries that will be matched to one.
  [[nodiscard]] std::vector<double> divisors(const Batch& batch) const override;
  [[nodiscard]] std::vector<std::vector<ShownBox>> boxes_on(const Batch& batch) const override {
    return shown_boxes_of(batch);
  }
  /// The parts are those of the last layer: class, L1, GIoU, and the cardinality error, the mean
  /// difference of the numbers of found and of existing objects of an image.
  [[nodiscard]] TaskLoss loss(const Batch& batch, Context& ctx) const override;
  [[nodiscard]] bool is_unused(const Parameter&) const override { return false; }
  [[nodiscard]] Notices notices() const override { return notices_; }
  [[nodiscard]] Notices evaluation_notices(const Dataset& images) const override;
  [[nodiscard]] EvaluationResult evaluate(const std::shared_ptr<const Dataset>& dataset,
                                          const EvaluateOptions& options) const override;
  /// The first images, in pairs: with their objects, and below with what is found.
  [[nodiscard]] std::optional<Image> picture(const std::shared_ptr<const Dataset>& dataset,
                                             const EvaluateOptions& options) const override;

 private:
  [[nodiscard]] std::optional<SetLossDivisors> divisors_of(const Batch& batch) const;

  Detector& model_;
  DetectionOptions options_;
  TaskInfo info_;
  Notices notices_;
};

}  // namespace fovea
