// Loss and accuracy of a classifier over a whole data set.
#pragma once

#include <memory>
#include <vector>

#include "models/classifier.h"
#include "train/loop/evaluation_pass.h"
#include "train/tasks/metrics.h"

namespace fovea {

/// Results of an evaluation. Images with non-finite outputs count as wrong.
struct Evaluation {
  EvaluationPass pass;
  Metrics metrics;  ///< cross-entropy without smoothing, top-1, top-5; each image counts once
  std::vector<Prediction> predictions;  ///< all images in the data set's order
  Tensor logits{};                      ///< f32 [N, K], row i for image i; 0 if it is broken
};

/// Selects optional results besides the metrics.
struct ClassifierOptions : EvaluateOptions {
  bool keep_predictions = false, keep_logits = false;
};

/// Evaluates without a tape, in evaluation mode, on the device of the model's parameters.
[[nodiscard]] Evaluation evaluate(Classifier& model, const std::shared_ptr<const Dataset>& dataset,
                                  const ClassifierOptions& options);

/// A batch's logits [B, K], on the CPU.
[[nodiscard]] Tensor logits_of(Classifier& model, const EvaluationBatch& batch);
/// Copies each row of a batch's logits [B, K], of any float dtype, into the row of its image in
/// `all`, f32 [N, K]: `indices` i64 [B]. All tensors are on the CPU.
void keep_rows(Tensor& all, const Tensor& logits, const Tensor& indices);
/// Completes rows of keep_rows(), f32 on the CPU, by those of the other processes; a row that a
/// process has not kept is zero there.
void gather_rows(const Tensor& all, Communicator& processes);

}  // namespace fovea
