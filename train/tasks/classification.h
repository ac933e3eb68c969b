// The classification task: images are mixed, and the loss compares logits with labels and, if there
// is one, a teacher's logits.
#pragma once

#include "data/augment/mixup.h"
#include "models/classifier.h"
#include "train/loop/task.h"
#include "train/settings/config.h"
#include "train/settings/task_settings.h"
#include "train/tasks/objective.h"

namespace fovea {

struct ClassificationOptions {
  ObjectiveOptions objective{};
  MixOptions mix{.mixup = 0, .cutmix = 0};  ///< smoothing is set in the objective
  std::int64_t mix_epochs = 0;              ///< mix only in this many first epochs; 0: in all
};

/// The settings --smoothing, --mixup, --distillation-type and so on.
[[nodiscard]] std::unique_ptr<TaskSettings> classification_settings();

/// The classification options of a run that trains a classifier.
[[nodiscard]] ClassificationOptions& classification_of(TrainConfig& config);
[[nodiscard]] const ClassificationOptions& classification_of(const TrainConfig& config);

/// Description of the task. With a teacher, the loss has two parts: labels and distillation.
[[nodiscard]] TaskInfo classification_info(const ClassificationOptions& options);

/// Top-5 of so few classes is always 100 %.
inline constexpr std::int64_t kTrivialTop5 = 5;
/// Marks the measures that are trivial for so many classes.
void mark_trivial(TaskInfo& info, std::int64_t classes);

class Classification : public Task {
 public:
  /// Loads a teacher if the options name one. Throws unless the model is a classifier.
  Classification(const ClassificationOptions& options, Model& model, const TrainingSplit& training);

  [[nodiscard]] const TaskInfo& info() const override { return info_; }
  [[nodiscard]] Batch prepare(Batch batch, const BatchPlace& place) const override;
  [[nodiscard]] std::vector<double> divisors(const Batch& batch) const override {
    return objective_.divisors(batch);
  }
  [[nodiscard]] TaskLoss loss(const Batch& batch, Context& ctx) const override;
  [[nodiscard]] Notices notices() const override { return objective_.notices(model_); }
  [[nodiscard]] bool is_unused(const Parameter& parameter) const override;
  /// Measures cross-entropy without smoothing, top-1 and top-5.
  [[nodiscard]] EvaluationResult evaluate(const std::shared_ptr<const Dataset>& dataset,
                                          const EvaluateOptions& options) const override;

 private:
  Classifier& model_;
  ClassificationOptions options_;
  std::uint64_t seed_;
  TaskInfo info_;
  Objective objective_;
};

}  // namespace fovea
