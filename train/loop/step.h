// One optimizer step: forward and backward passes of its batches, exchange, clipping, update and
// average.
#pragma once

#include <memory>
#include <string>

#include "data/loading/batch_source.h"
#include "models/model.h"
#include "train/loop/exchange.h"
#include "train/loop/step_gate.h"
#include "train/loop/task.h"
#include "train/optim/ema.h"
#include "train/optim/gradients.h"
#include "train/optim/optimizer.h"
#include "train/run/timers.h"

namespace fovea {

struct RunContext;
class StepRepeater;

struct EmaOptions {
  bool keep = false;  ///< keep averages of the weights
  double decay = 0.9998;
  bool warmup = false;
};

struct StepOptions {
  OptimizerOptions optimizer{};
  ClipOptions clip{};
  EmaOptions ema{};
  GuardOptions guard{};
  bool recompute_blocks = false;  ///< Context::recompute_blocks
  bool any_size = false;          ///< accept images of another size than the model's
  bool detect_anomaly = false;
  bool graph = true;         ///< repeat steps as a CUDA graph, see step_repeater.h
  bool is_profiled = false;  ///< each op is measured
};

class TrainStep {
 public:
  /// Trains the model on the device of its parameters.
  TrainStep(const StepOptions& options, const RunContext& run, Model& model,
            std::unique_ptr<const Task> task, const StepPart& part = {});

  /// Runs a step of `count` batches at learning rate `lr`. Counts batches and updates. Returns the
  /// reason if the step was skipped, else "". If a batch cannot be made, throws AllImagesBad;
  /// weights, running statistics and progress are then as before the step.
  std::string run(BatchSource& source, std::int64_t count, double lr, Progress& progress);
  /// Adds the losses of all steps so far to progress.epoch and .interval. Throws if a loss or
  /// gradient is not finite, unless such steps are skipped. run() does this itself on the CPU and
  /// where an update needs these numbers; otherwise nothing waits for the device before this call.
  void read_back(Progress& progress);

  /// Messages for the user before a run, and since the last step.
  [[nodiscard]] Notices notices() const;
  [[nodiscard]] std::vector<std::string> take_notices();
  [[nodiscard]] bool keeps_batches() const { return repeater_ != nullptr; }  ///< all of a step
  /// Frees the memory of a recorded step, if there is one, and says whether there was.
  [[nodiscard]] bool gives_up_recording();

  [[nodiscard]] const Task& task() const { return *task_; }
  [[nodiscard]] Optimizer& optimizer() { return optimizer_; }
  [[nodiscard]] Ema* ema() { return ema_.get(); }  ///< null without averages
  /// See Exchange. Call it before the first step, when a saved state has been loaded.
  void shard_state() { exchange_->shard_state(optimizer_, ema_.get()); }
  /// The optimizer's moments, whole in the first process; handles that share storage unless the
  /// optimizer is sharded. All processes call it.
  [[nodiscard]] Exchange::Tensors moments() const;
  /// The averages, whole in the first process or `everywhere`. Empty without EMA.
  [[nodiscard]] Exchange::Tensors averages(bool everywhere) const;
  /// Gradient norm of the last step that was read back.
  [[nodiscard]] double gradient_norm() const { return gate_.gradient_norm(); }
  /// Of the last step, skipped or not.
  [[nodiscard]] std::int64_t images() const { return images_; }
  /// Time spent so far, by stage, and the products computed.
  [[nodiscard]] StageTimes& times() { return times_; }

 private:
  std::string run_on_device(BatchSource& source, std::int64_t count, double lr, Progress& progress);
  void pass_batches(BatchSource& source, std::int64_t count, std::int64_t done);
  [[nodiscard]] Batch next_batch(BatchSource& source);
  [[nodiscard]] TaskLoss forward(const Batch& batch, std::int64_t number);
  void backward(const TaskLoss& loss, double weight);
  void finish_backward();
  [[nodiscard]] Tensor measure_gradients(double scale);
  [[nodiscard]] std::string obstacle_to_recording() const;
  [[nodiscard]] std::shared_ptr<StepRepeater> make_repeater();
  [[nodiscard]] StepNumber number_in_memory(std::int64_t forward) const;

  StepOptions options_;
  std::uint64_t seed_;
  DType precision_;  ///< dtype of activations
  Model& model_;
  std::unique_ptr<const Task> task_;
  StageTimes times_;
  Optimizer optimizer_;
  std::unique_ptr<Ema> ema_;
  std::unique_ptr<Exchange> exchange_;
  std::shared_ptr<StepRepeater> repeater_;  ///< null if the host takes part in each step
  StepGate gate_;
  std::int64_t images_ = 0;
};

}  // namespace fovea
