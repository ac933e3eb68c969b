// Steps of a benchmark that a GPU repeats as a CUDA graph, as runs and evaluations do.
#pragma once

#include <functional>

#include "train/loop/repeated_forward.h"
#include "train/loop/step.h"

namespace fovea::bench {

/// Training steps of a run: with the norm of the gradients, but nothing is read.
class RepeatedTraining {
 public:
  /// The steps' loss is that of this task.
  RepeatedTraining(Model& model, std::unique_ptr<const Task> task, DType activations);

  /// Trains on this batch, whose random numbers are drawn, and returns the operations of the
  /// products. The first step creates the moments.
  double step(const Batch& batch, double rate);

 private:
  TrainStep step_;
  Progress progress_;
};

/// Forward passes of an evaluation, which reads what they compute.
class RepeatedInference {
 public:
  using Forward = std::function<Tensor(const Tensor& input)>;

  explicit RepeatedInference(Device device) : passes_(device, /*records=*/true) {}

  /// Runs a pass, always the same function, and returns the operations of its products.
  double step(const Tensor& input, const Forward& forward);

 private:
  RepeatedForward passes_;
  double flop_ = 0;  ///< a repetition counts none
};

/// The first steps: the last of them is recorded.
inline constexpr int kStepsBeforeRepetition = 4;

}  // namespace fovea::bench
