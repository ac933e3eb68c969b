// Loss and accuracy of a classifier over a whole data set.
#pragma once

#include <memory>
#include <vector>

#include "models/classifier.h"
#include "train/loop/evaluation_pass.h"
#include "train/tasks/metrics.h"

namespace fovea {

/// Images whose outputs are not finite count as wrong.
struct Evaluation {
  EvaluationPass pass;
  Metrics metrics;  ///< cross-entropy without smoothing, top-1, top-5; every image once
  std::vector<Prediction> predictions;  ///< of every image, in the data set's order
  Tensor logits{};                      ///< f32 [N, K], row i of image i; 0 where it is broken
};

/// What of it is wanted beside the metrics.
struct ClassifierOptions : EvaluateOptions {
  bool keep_predictions = false, keep_logits = false;
};

/// Runs without a tape, in evaluation mode, on the device of the model's parameters.
[[nodiscard]] Evaluation evaluate(Classifier& model, const std::shared_ptr<const Dataset>& dataset,
                                  const ClassifierOptions& options);

/// Writes each row of a batch's logits [B, K], of any float dtype, to that row of `all`, f32 [N,
/// K], which is its image's: `indices` i64 [B]. All on the CPU.
void keep_rows(Tensor& all, const Tensor& logits, const Tensor& indices);

}  // namespace fovea
