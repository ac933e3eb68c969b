// What a model is trained for: what it takes from the data, its loss, what an evaluation measures
// and which of that is best. The step, the trainer, and with them schedules, clipping, averages,
// guards, logs and resume, know no more of it than this.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/image.h"
#include "data/loading/batch.h"
#include "models/model.h"
#include "train/evaluation_pass.h"

namespace fovea {

/// A number that an evaluation measures.
struct Measure {
  std::string name;      ///< in logs, "eval_top1", and in tags, "eval/top1"
  std::string title;     ///< for people: "top-1"
  bool is_loss = false;  ///< what training makes small, of held-out images
  std::string chart{};   ///< heading of the chart that it is drawn in with others; "": the losses'
  bool is_percent = false;
  bool more_is_better = false;

  /// "93.75 %" or "0.1234".
  [[nodiscard]] std::string text(double value) const;
};

/// In the order of TaskInfo::measures; empty: not measured.
using Scores = std::vector<double>;

/// What is known of a task without a model: what the logs of a run hold.
struct TaskInfo {
  std::vector<std::string> loss_parts{};  ///< beside the whole, as in logs: "train_<part>"
  std::vector<Measure> measures;
  std::size_t best = 0;     ///< the measure that chooses the best epoch and steers plateaus
  std::string pictures{};   ///< heading of the picture that an epoch ends with, or ""
  std::string next_steps;   ///< what to type when a run is done, RUN standing for its folder
  bool classifies = false;  ///< the model has an output for each class of the data set
  std::int64_t batch_multiple = 1;  ///< images of a batch that belong together
  std::string prepared{};           ///< what prepare() does to images, for people, or ""

  [[nodiscard]] const Measure& best_measure() const { return measures.at(best); }
  [[nodiscard]] double best_score(const Scores& scores) const { return scores.at(best); }
  [[nodiscard]] bool is_better(double score, double than) const {
    return best_measure().more_is_better ? score > than : score < than;
  }
};

/// Where in the run a batch comes. All that a task draws at random must follow from this, the run's
/// seed and the sample, so that a run which was stopped goes on with the same bits.
struct BatchPlace {
  std::int64_t step = 0;     ///< steps of the run before that of this batch
  std::int64_t forward = 0;  ///< batches of the run before it
  std::int64_t epoch = 0;    ///< finished ones
};

/// One value each, with their tape.
struct TaskLoss {
  Tensor total;                 ///< to be made small
  std::vector<Tensor> parts{};  ///< in the order of TaskInfo::loss_parts
};

/// Made from the model that it trains, and to be outlived by it.
class Task {
 public:
  virtual ~Task() = default;

  [[nodiscard]] virtual const TaskInfo& info() const = 0;
  /// What is done to a batch, on the CPU, before it is copied to the model's device: its images
  /// changed, its targets made, its noise drawn.
  [[nodiscard]] virtual Batch prepare(Batch batch, const BatchPlace& place) const = 0;
  /// The batch is where the model is.
  [[nodiscard]] virtual TaskLoss loss(const Batch& batch, Context& ctx) const = 0;
  /// Whether a trainable parameter rightly has no gradient.
  [[nodiscard]] virtual bool is_unused(const Parameter& parameter) const = 0;

  /// Scores of the model on all of a data set, and how the pass over it went.
  struct Evaluated {
    Scores scores;
    EvaluationPass pass;
  };
  [[nodiscard]] virtual Evaluated evaluate(const std::shared_ptr<const Dataset>& dataset,
                                           const EvaluateOptions& options) const = 0;
  /// What the model makes of some images of a data set, to be looked at; none where
  /// info().pictures is "".
  [[nodiscard]] virtual std::optional<Image> picture(
      const std::shared_ptr<const Dataset>& /*dataset*/, const EvaluateOptions& /*options*/) const {
    return {};
  }
};

}  // namespace fovea
