// Interface of a training task: batch preparation, loss, evaluation metrics and the choice of the
// best epoch. Step, trainer, schedules, clipping, averages, guards, logs and resume use a task only
// through this interface.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/loading/batch.h"
#include "engine/base/notices.h"
#include "models/model.h"
#include "train/loop/batch_place.h"
#include "train/run/task_info.h"

namespace fovea {

class Dataset;
struct EvaluateOptions;
struct EvaluationResult;
struct Image;
struct ImageSize;
struct ShownBox;

struct TaskLoss {
  Tensor total;                 ///< loss to minimise: a scalar with its tape
  std::vector<Tensor> parts{};  ///< for logs, in the order of TaskInfo::loss_parts
};

/// The batch with values in place of raw pixels, computed on the device where these are.
[[nodiscard]] Batch with_values(Batch batch);

/// A task is made for a model, which must outlive it.
class Task {
 public:
  virtual ~Task() = default;

  [[nodiscard]] virtual const TaskInfo& info() const = 0;
  /// Prepares a batch on the CPU before its upload to the model's device: transforms images, makes
  /// targets, draws noise. Called concurrently by the loader's workers, ahead of the step.
  [[nodiscard]] virtual Batch prepare(Batch batch, const BatchPlace& place) const = 0;
  /// What the loss divides by apart from the number of images, such as the number of boxes; needs
  /// TaskInfo::has_divisors. With shards the loss must divide by Batch::divisors times
  /// Batch::share() instead: weighted by their shares, the losses of the shards then add up to that
  /// of the batch.
  [[nodiscard]] virtual std::vector<double> divisors(const Batch& /*batch*/) const { return {}; }
  /// Computes the loss. The batch is on the model's device.
  [[nodiscard]] virtual TaskLoss loss(const Batch& batch, Context& ctx) const = 0;
  /// The size of images for the model, before the task encodes them.
  [[nodiscard]] ImageSize image_size(const Model& model) const;
  /// The boxes of a prepared batch on the CPU, in pixels of its images; empty if it has none.
  [[nodiscard]] virtual std::vector<std::vector<ShownBox>> boxes_on(const Batch& batch) const;
  /// Messages for the user before a run.
  [[nodiscard]] virtual Notices notices() const { return {}; }
  /// True if this parameter is expected to receive no gradient.
  [[nodiscard]] virtual bool is_unused(const Parameter& parameter) const = 0;

  /// Throws if evaluate() cannot measure on these images. Called before the first step.
  virtual void require_evaluable(const Dataset& /*images*/) const {}
  /// Messages for the user about images that evaluate() will measure on.
  [[nodiscard]] virtual Notices evaluation_notices(const Dataset& /*images*/) const { return {}; }
  /// Metrics on a data set or a part of it, and the outcome of the pass.
  [[nodiscard]] virtual EvaluationResult evaluate(const std::shared_ptr<const Dataset>& dataset,
                                                  const EvaluateOptions& options) const = 0;
  /// The metrics from sums over a whole data set; by default means.
  [[nodiscard]] virtual Scores from_sums(const ScoreSums& sums) const { return info().means(sums); }
  /// The metrics of an evaluation, whether it returned them or their sums.
  [[nodiscard]] Scores scores(const EvaluationResult& result) const;
  /// A picture of the model's output on some images of a data set; empty if info().pictures is "".
  [[nodiscard]] virtual std::optional<Image> picture(const std::shared_ptr<const Dataset>& dataset,
                                                     const EvaluateOptions& options) const;
};

}  // namespace fovea
