// The two passes after an epoch, and its picture.
#include "train/loop/epoch_evaluation.h"

#include <optional>
#include <utility>

#include "engine/base/error.h"
#include "train/loop/finite_state.h"
#include "train/optim/ema.h"

namespace fovea {

EpochEvaluation::EpochEvaluation(HeldOutImages held_out, const ParameterStore& weights,
                                 TrainStep& step, BrokenImages& broken_images)
    : held_out_(std::move(held_out)),
      weights_(weights),
      step_(step),
      broken_images_(broken_images) {}

EvaluationResult EpochEvaluation::evaluate(RunObserver& observer) const {
  EvaluateOptions options = held_out_.options;
  options.on_batch = [&](std::int64_t done) {
    observer.evaluation(done, held_out_.images->size());
    return !observer.asks_to_stop();
  };
  const StageTimer timer(step_.times().evaluate, "evaluate");
  EvaluationResult result = step_.task().evaluate(held_out_.images, options);
  broken_images_.report(result.pass.bad_images, observer);
  return result;
}

EvaluationResult EpochEvaluation::evaluate_to_save(const Progress& at,
                                                   RunObserver& observer) const {
  EvaluationResult result = evaluate(observer);
  try {
    result.pass.require_finite();
  } catch (const Error& error) {
    refuse_to_save(at, error.what());
  }
  return result;
}

bool EpochEvaluation::run(EpochRow& row, const Progress& at, RunObserver& observer) const {
  const auto evaluate_into = [&](Scores& scores) {
    const EvaluationResult evaluated = evaluate_to_save(at, observer);
    scores = step_.task().scores(evaluated);
    row.seconds += evaluated.pass.seconds;
    return evaluated.pass.complete;
  };
  if (!evaluate_into(row.eval)) return false;
  std::optional<SwappedWeights> averaged;
  if (step_.ema() != nullptr) {
    averaged.emplace(weights_, step_.averages(/*everywhere=*/true));
    if (!evaluate_into(row.ema)) return false;
  }
  show_picture(at.finished_epochs, observer);
  return true;
}

/// The first process draws it, on its own.
void EpochEvaluation::show_picture(std::int64_t epoch, RunObserver& observer) const {
  const Task& task = step_.task();
  if (task.info().pictures.empty() || !held_out_.options.processes->is_first()) return;
  const StageTimer timer(step_.times().evaluate, "evaluate");
  EvaluateOptions own = held_out_.options;
  own.processes = &single_process();
  const std::optional<Image> picture = task.picture(held_out_.images, own);
  if (picture) observer.picture(epoch, *picture);
}

}  // namespace fovea
