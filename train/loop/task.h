// What a model is trained for: what it takes from the data, its loss, what an evaluation measures
// and which of that is best. The step, the trainer, and with them schedules, clipping, averages,
// guards, logs and resume, know no more of it than this.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/notices.h"
#include "data/dataset.h"
#include "data/image.h"
#include "data/loading/batch.h"
#include "models/model.h"
#include "train/loop/batch_place.h"
#include "train/loop/evaluation_pass.h"
#include "train/loop/parameter_groups.h"
#include "train/run/task_info.h"

namespace fovea {

/// One value each, with their tape.
struct TaskLoss {
  Tensor total;                 ///< to be made small
  std::vector<Tensor> parts{};  ///< in the order of TaskInfo::loss_parts
  /// What the parameter groups after the first make small, in their order; undefined: that group
  /// rests. They may share a tape with each other.
  std::vector<Tensor> further{};
};

/// Made from the model that it trains, and to be outlived by it.
class Task {
 public:
  virtual ~Task() = default;

  [[nodiscard]] virtual const TaskInfo& info() const = 0;
  /// What is done to a batch, on the CPU, before it is copied to the model's device: its images
  /// changed, its targets made, its noise drawn. Called by the loader's workers, several at once
  /// and ahead of the step.
  [[nodiscard]] virtual Batch prepare(Batch batch, const BatchPlace& place) const = 0;
  /// The batch is where the model is.
  [[nodiscard]] virtual TaskLoss loss(const Batch& batch, Context& ctx) const = 0;
  /// Which parameters learn from which loss. Logs, guards and schedules go by the first group's;
  /// what they should tell of others belongs to TaskLoss::parts. A model that computes values once
  /// per step (Model::finish_backward()) has one group.
  [[nodiscard]] virtual ParameterSplit split() const { return {}; }
  /// What its user should be told before a run.
  [[nodiscard]] virtual Notices notices() const { return {}; }
  /// Whether a trainable parameter rightly has no gradient.
  [[nodiscard]] virtual bool is_unused(const Parameter& parameter) const = 0;

  /// What was measured of the model on a data set, or a part of one, and how the pass over it went.
  struct Evaluated {
    ScoreSums sums;
    EvaluationPass pass;
  };
  [[nodiscard]] virtual Evaluated evaluate(const std::shared_ptr<const Dataset>& dataset,
                                           const EvaluateOptions& options) const = 0;
  /// The scores that sums over all of a data set make: in general means.
  [[nodiscard]] virtual Scores scores(const ScoreSums& sums) const { return info().means(sums); }
  /// What the model makes of some images of a data set, to be looked at; none where
  /// info().pictures is "".
  [[nodiscard]] virtual std::optional<Image> picture(
      const std::shared_ptr<const Dataset>& /*dataset*/, const EvaluateOptions& /*options*/) const {
    return {};
  }
};

}  // namespace fovea
