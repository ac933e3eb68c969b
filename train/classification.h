// The task of saying what is in a picture: images are mixed, and the loss compares logits with
// labels, and with what a teacher says where there is one.
#pragma once

#include <optional>

#include "data/augment/mixup.h"
#include "train/objective.h"
#include "train/task.h"

namespace fovea {

struct ClassificationOptions {
  ObjectiveOptions objective{};
  std::optional<MixOptions> mix{};
  std::int64_t mix_epochs = 0;  ///< only in so many first epochs; 0: in all
  std::uint64_t seed = 0;
};

class Classification : public Task {
 public:
  /// `samples` is the size of the training split. Reads a teacher where there is to be one.
  Classification(const ClassificationOptions& options, const ModelInfo& model,
                 std::int64_t samples);

  [[nodiscard]] Batch prepare(Batch batch, const BatchPlace& place) const override;
  [[nodiscard]] Tensor loss(Model& model, const Batch& batch, Context& ctx) const override;
  [[nodiscard]] bool is_unused(const Parameter& parameter) const override;

 private:
  ClassificationOptions options_;
  Objective objective_;
};

}  // namespace fovea
