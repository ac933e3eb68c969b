// A model and its step, made like those of a run, to be measured before there is one.
#pragma once

#include <cstdint>
#include <memory>

#include "settings/config.h"
#include "train/loop/step.h"
#include "train/loop/trainer.h"

namespace fovea {

class Probe {
 public:
  Probe(TrainConfig config, Datasets data);

  [[nodiscard]] const TrainConfig& config() const { return config_; }
  [[nodiscard]] const Datasets& data() const { return data_; }
  [[nodiscard]] Model& model() { return *model_; }
  [[nodiscard]] TrainStep& step() { return *step_; }
  [[nodiscard]] const TaskInfo& task() const { return step_->task().info(); }
  [[nodiscard]] ImageSize own_size() const;
  /// Of training's images where they are largest.
  [[nodiscard]] ImageSize largest_size() const;

  /// What the task does to batches, for the loaders that feed run().
  [[nodiscard]] PrepareBatch preparation() const;
  /// A step at rate 0 of `batches` batches, and what it leaves to be read.
  void run(const std::function<Batch()>& next, std::int64_t batches);
  /// Bytes at the peak of a step on `samples` samples of the largest size, above what is there
  /// between steps.
  [[nodiscard]] std::int64_t peak_of(std::int64_t samples);

 private:
  /// The first of training, over again where there are fewer.
  [[nodiscard]] Batch first_samples(std::int64_t samples) const;

  TrainConfig config_;
  Datasets data_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<TrainStep> step_;
  Progress progress_;
};

}  // namespace fovea
