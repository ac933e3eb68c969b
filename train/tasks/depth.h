// The depth task: a model predicts the depth of each pixel in metres. The data set's map "depth" is
// the target; pixels with a depth of 0 are not known and do not count.
#pragma once

#include <mutex>
#include <optional>

#include "models/depth/protocol.h"
#include "models/depth_transformer.h"
#include "train/loop/task.h"
#include "train/settings/task_settings.h"
#include "train/tasks/depth_evaluation.h"

namespace fovea {

/// An evaluation measures the loss, all DepthMeasures, and the RMSE of both baselines. The best
/// epoch has the smallest RMSE.
[[nodiscard]] TaskInfo depth_info();

[[nodiscard]] std::unique_ptr<TaskSettings> depth_settings();

class DepthEstimation : public Task {
 public:
  /// Throws unless the model is a depth model and the images, if there are any, have depths. The
  /// baselines are those of `images`, which must outlive the task. `notices` are about them.
  DepthEstimation(Model& model, const DepthProtocol& protocol, const Dataset* images,
                  Notices notices = {});

  [[nodiscard]] const TaskInfo& info() const override { return info_; }
  [[nodiscard]] Batch prepare(Batch batch, const BatchPlace&) const override { return batch; }
  /// The number of pixels with a known depth.
  [[nodiscard]] std::vector<double> divisors(const Batch& batch) const override;
  [[nodiscard]] TaskLoss loss(const Batch& batch, Context& ctx) const override;
  [[nodiscard]] bool is_unused(const Parameter&) const override { return false; }
  void require_evaluable(const Dataset& images) const override;
  [[nodiscard]] Notices notices() const override { return notices_; }
  /// Says if no pixel of a few maps counts.
  [[nodiscard]] Notices evaluation_notices(const Dataset& images) const override;
  /// The sums are DepthResults::sums of the task's protocol.
  [[nodiscard]] EvaluationResult evaluate(const std::shared_ptr<const Dataset>& dataset,
                                          const EvaluateOptions& options) const override;
  [[nodiscard]] Scores from_sums(const ScoreSums& sums) const override;
  /// The first images above their depths and the predictions, in one scale of colours.
  [[nodiscard]] std::optional<Image> picture(const std::shared_ptr<const Dataset>& dataset,
                                             const EvaluateOptions& options) const override;

 private:
  [[nodiscard]] const DepthBaselines& baselines(const EvaluateOptions& options) const;

  DepthTransformer& model_;
  DepthProtocol protocol_;
  const Dataset* images_;
  TaskInfo info_;
  Notices notices_;
  mutable std::once_flag measured_;  ///< guards baselines_
  mutable std::optional<DepthBaselines> baselines_;
};

}  // namespace fovea
