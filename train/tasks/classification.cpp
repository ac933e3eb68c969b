// The classification task. Mixing is drawn for each batch by its place in the run.
#include "train/tasks/classification.h"

#include <utility>

#include "data/fields.h"
#include "engine/base/program_call.h"
#include "models/model_as.h"
#include "train/loop/evaluation_pass.h"
#include "train/tasks/classifier_evaluation.h"

namespace fovea {
namespace {

constexpr std::uint64_t kMixStream = 0x6D6978;  // "mix"

}  // namespace

TaskInfo classification_info(const ClassificationOptions& options) {
  TaskInfo info;
  if (options.objective.distillation != Distillation::none) {
    info.loss_parts = {"labels", "teacher"};
  }
  const auto accuracy = [](const char* name, const char* title) {
    return Measure{.name = name,
                   .title = title,
                   .chart = "Accuracy on held-out images",
                   .is_percent = true,
                   .more_is_better = true};
  };
  info.measures = {{.name = "loss", .title = "loss", .is_loss = true},
                   accuracy("top1", "top-1"),
                   accuracy("top5", "top-5")};
  info.best = 1;
  info.next_steps = {{"accuracy per class, confusion matrix", program_call("evaluate") + " RUN"},
                     {"classes of your pictures", program_call("predict") + " RUN PICTURES"}};
  info.needs_labels = info.has_data_classes = info.has_class_report = true;
  info.takes_raw_pixels = true;
  info.has_divisors = options.objective.divides_by_weights();
  if (mixes(options.mix)) {
    info.batch_multiple = 2;
    info.prepared = "one draw of mixing";
  }
  return info;
}

void mark_trivial(TaskInfo& info, std::int64_t classes) {
  for (Measure& measure : info.measures)
    if (measure.name == "top5") measure.is_trivial = classes <= kTrivialTop5;
}

Classification::Classification(const ClassificationOptions& options, Model& model,
                               const TrainingSplit& training)
    : model_(model_as<Classifier>(model)),
      options_(options),
      seed_(training.run.seed),
      info_(classification_info(options)),
      objective_(options.objective, model.info(), training) {
  options_.mix.smoothing = options.objective.smoothing;
  options_.mix.classes = model.info().num_classes;
  mark_trivial(info_, model.info().num_classes);
}

Batch Classification::prepare(Batch batch, const BatchPlace& place) const {
  const bool in_time = options_.mix_epochs == 0 || place.epoch < options_.mix_epochs;
  batch = objective_.prepared(std::move(batch));
  if (!mixes(options_.mix) || !in_time) return batch;
  Rng rng(seed_, stream_of(kMixStream, static_cast<std::uint64_t>(place.forward)));
  return mix(std::move(batch), options_.mix, rng);
}

TaskLoss Classification::loss(const Batch& batch, Context& ctx) const {
  return objective_(model_.forward(batch.images, ctx), batch);
}

EvaluationResult Classification::evaluate(const std::shared_ptr<const Dataset>& dataset,
                                          const EvaluateOptions& options) const {
  const Evaluation result = fovea::evaluate(model_, dataset, {options});
  const Metrics& metrics = result.metrics;
  return {ScoreSums{{metrics.loss_sum, static_cast<double>(metrics.correct1),
                     static_cast<double>(metrics.correct5)},
                    metrics.samples},
          result.pass};
}

bool Classification::is_unused(const Parameter& parameter) const {
  return objective_.is_unused(parameter);
}

}  // namespace fovea
