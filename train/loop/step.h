// One optimizer step: forward and backward passes of its batches, clipping, update, EMA.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/loading/batch.h"
#include "engine/comm/communicator.h"
#include "engine/comm/shards.h"
#include "models/model.h"
#include "train/loop/guards.h"
#include "train/loop/shard_sums.h"
#include "train/loop/step_numbers.h"
#include "train/loop/task.h"
#include "train/loop/trained_group.h"
#include "train/optim/ema.h"
#include "train/optim/optimizer.h"
#include "train/run/run_context.h"
#include "train/run/run_progress.h"
#include "train/run/timers.h"

namespace fovea {

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
};

/// This process's part of every step.
struct StepPart {
  Communicator* processes = &alone();
  Shards shards{};
  Summing summing = Summing::tree;
  bool shards_optimizer = false;  ///< keep_portions() will be called
};

class TrainStep {
 public:
  /// Trains the model on the device of its parameters.
  TrainStep(const StepOptions& options, const RunContext& run, Model& model,
            std::unique_ptr<const Task> task, const StepPart& part = {});

  /// Runs a step of `batches` batches at learning rate `lr`. `next` returns batches as made by
  /// Task::prepare(), with several shards in the loader's order (ShardOptions). Counts batches and
  /// updates. Returns the reason if the step was skipped, else "".
  std::string run(const std::function<Batch()>& next, std::int64_t batches, double lr,
                  Progress& progress);
  /// Adds the losses of all steps so far to progress.epoch and .interval. Throws if a loss or
  /// gradient is not finite, unless such steps are skipped. On the CPU, and if an update depends on
  /// these numbers, run() does this itself; otherwise the device is not waited for until this call.
  void settle(Progress& progress);

  [[nodiscard]] const Task& task() const { return *task_; }
  /// The parameter groups in the order of Task::split(), usually one.
  [[nodiscard]] std::vector<TrainedGroup*> groups();
  [[nodiscard]] Ema* ema() { return ema_.get(); }
  /// StepPart::shards_optimizer: keeps moments and averages of this process's part of the
  /// parameters alone. Call it before the first step, when a saved state has been loaded.
  void keep_portions();
  /// Moments of all groups, whole in the first process; handles that share storage unless the
  /// optimizer is sharded. All processes call it.
  [[nodiscard]] Portions::Tensors moments();
  /// The averages, whole in the first process or `everywhere`. Empty without EMA.
  [[nodiscard]] Portions::Tensors averages(bool everywhere);
  /// Gradient norm of the last settled step.
  [[nodiscard]] double gradient_norm() const { return gradient_norm_; }
  [[nodiscard]] std::int64_t images() const { return images_; }  ///< of the whole last step
  /// Time spent so far, by stage.
  [[nodiscard]] StageTimes& times() { return times_; }

 private:
  void begin(const Progress& progress);
  void run_shard(std::int64_t shard, std::int64_t batches, const std::function<Batch()>& next,
                 const Progress& progress);
  [[nodiscard]] std::function<Batch()> with_divisors(const std::function<Batch()>& next,
                                                     std::int64_t batches);
  [[nodiscard]] Batch upload_next(const std::function<Batch()>& next);
  [[nodiscard]] TaskLoss forward(const Batch& batch, std::int64_t number);
  void backward(const TaskLoss& loss, double weight);
  [[nodiscard]] GradientBuckets::Divides divides() const;
  [[nodiscard]] bool is_sharded() const { return part_.shards.count > 1; }
  [[nodiscard]] bool rests(std::size_t group) const { return !moved_[group]; }
  void finish_backward();
  void sum_shards();
  void measure_gradients(double scale);
  [[nodiscard]] std::string judge(Progress& progress);
  void leave_out(const std::string& objection, Progress& progress);
  void update(double lr, double scale, Progress& progress);
  void keep_buffers();
  void restore_buffers() const;
  void check_first_gradients(const TrainedGroup& group) const;

  StepOptions options_;
  RunContext run_;
  Model& model_;
  std::unique_ptr<const Task> task_;
  StepPart part_;
  std::unique_ptr<ShardSums> sums_;     ///< null with a single shard
  std::unique_ptr<Portions> portions_;  ///< null unless the optimizer is sharded
  std::vector<std::unique_ptr<TrainedGroup>> groups_;
  std::vector<bool> moved_;  ///< groups with a loss in this step
  std::unique_ptr<Ema> ema_;
  StepGuard guard_;
  DeferredNumbers numbers_;
  StageTimes times_;
  /// Running statistics before the step, kept if it may be skipped.
  std::vector<Tensor> buffers_before_;
  double gradient_norm_ = 0;
  std::vector<GradientSize> gradients_;  ///< one per group; empty for a group without a loss
  std::int64_t images_ = 0;
};

}  // namespace fovea
