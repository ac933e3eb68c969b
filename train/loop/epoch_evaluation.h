// Evaluation of a run on held-out images: of its weights and, after an epoch, of their averages.
#pragma once

#include <cstdint>
#include <memory>

#include "data/dataset.h"
#include "models/scope.h"
#include "train/loop/broken_images.h"
#include "train/loop/evaluation_pass.h"
#include "train/loop/run_observer.h"
#include "train/loop/step.h"
#include "train/loop/task.h"
#include "train/run/run_log.h"
#include "train/run/run_progress.h"

namespace fovea {

struct HeldOutImages {
  std::shared_ptr<const Dataset> images;
  EvaluateOptions options{};
};

/// All processes call its functions. Its time counts as StageTimes::evaluate of the step.
class EpochEvaluation {
 public:
  /// Evaluates by the step's task. `weights` are those of the model that the step trains; all
  /// references must outlive this object.
  EpochEvaluation(HeldOutImages held_out, const ParameterStore& weights, TrainStep& step,
                  BrokenImages& broken_images);

  /// One pass with the weights that are in the model now. The observer may stop it.
  [[nodiscard]] EvaluationResult evaluate(RunObserver& observer) const;

  /// Evaluates the weights and then, if the run keeps them, their averages: sets row.eval and
  /// row.ema and adds the time to row.seconds. The task's picture is made with the weights
  /// evaluated last. Returns false if the observer stopped it; the row is then incomplete. However
  /// it ends, the model has its own weights again.
  ///
  /// Calls refuse_to_save() if outputs are not finite: finite weights can still overflow in the
  /// forward pass.
  [[nodiscard]] bool run(EpochRow& row, const Progress& at, RunObserver& observer) const;

 private:
  [[nodiscard]] EvaluationResult evaluate_to_save(const Progress& at, RunObserver& observer) const;
  void show_picture(std::int64_t epoch, RunObserver& observer) const;

  HeldOutImages held_out_;
  const ParameterStore& weights_;
  TrainStep& step_;
  BrokenImages& broken_images_;
};

}  // namespace fovea
