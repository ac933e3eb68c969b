// The task of saying what is in a picture: images are mixed, and the loss compares logits with
// labels, and with what a teacher says where there is one.
#pragma once

#include <optional>

#include "data/augment/mixup.h"
#include "models/classifier.h"
#include "train/loop/task.h"
#include "train/tasks/objective.h"

namespace fovea {

struct ClassificationOptions {
  ObjectiveOptions objective{};
  std::optional<MixOptions> mix{};
  std::int64_t mix_epochs = 0;  ///< only in so many first epochs; 0: in all
  std::uint64_t seed = 0;
};

/// Parts of the loss: what labels say and what a teacher does, where there is one.
[[nodiscard]] TaskInfo classification_info(const ClassificationOptions& options);

class Classification : public Task {
 public:
  /// `samples` is the size of the training split. Reads a teacher where there is to be one.
  /// Throws where the model is not a classifier.
  Classification(const ClassificationOptions& options, Model& model, std::int64_t samples);

  [[nodiscard]] const TaskInfo& info() const override { return info_; }
  [[nodiscard]] Batch prepare(Batch batch, const BatchPlace& place) const override;
  [[nodiscard]] TaskLoss loss(const Batch& batch, Context& ctx) const override;
  [[nodiscard]] bool is_unused(const Parameter& parameter) const override;
  /// Cross-entropy without smoothing, top-1, top-5.
  [[nodiscard]] Evaluated evaluate(const std::shared_ptr<const Dataset>& dataset,
                                   const EvaluateOptions& options) const override;

 private:
  Classifier& model_;
  ClassificationOptions options_;
  TaskInfo info_;
  Objective objective_;
};

}  // namespace fovea
