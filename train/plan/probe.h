// A model and its training step, made like those of a run, for measurements before the run.
#pragma once

#include <cstdint>
#include <memory>

#include "train/loop/step.h"
#include "train/loop/trainer_options.h"
#include "train/settings/config.h"

namespace fovea {

class Probe {
 public:
  Probe(TrainConfig config, Datasets data);

  [[nodiscard]] const TrainConfig& config() const { return config_; }
  [[nodiscard]] const Datasets& data() const { return data_; }
  [[nodiscard]] Model& model() { return *model_; }
  [[nodiscard]] TrainStep& step() { return *step_; }
  [[nodiscard]] const TaskInfo& task() const { return step_->task().info(); }
  [[nodiscard]] ImageSize own_size() const;  ///< the model's own image size
  /// The largest image size in training.
  [[nodiscard]] ImageSize largest_size() const;

  /// The images of the loaders that feed run().
  [[nodiscard]] TrainingImages images() const;
  /// The task's batch preparation, for the loaders that feed run().
  [[nodiscard]] PrepareBatch preparation() const;
  /// Runs a step of `batches` batches at learning rate 0 and waits for its results.
  void run(BatchSource& source, std::int64_t batches);
  /// Peak bytes of a step on `samples` samples of the largest size, above the memory between steps;
  /// with the copy of its batch that a CUDA graph needs, if the run's steps are recorded as one.
  [[nodiscard]] std::int64_t peak_of(std::int64_t samples);
  /// Bytes of a sample of the largest size on the device for as long as its step takes, in copies
  /// of all batches of the step; 0: there are none.
  [[nodiscard]] std::int64_t sample_bytes_of_step() const;

 private:
  /// Whether the run's steps are recorded, where they can be.
  [[nodiscard]] bool records() const;
  /// Makes the step; it starts anew. Without `records` all its steps run op by op.
  void start_step(bool records);
  /// The first training samples, repeated if there are fewer.
  [[nodiscard]] Batch first_samples(std::int64_t samples) const;

  TrainConfig config_;
  Datasets data_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<TrainStep> step_;
  Progress progress_;
};

}  // namespace fovea
