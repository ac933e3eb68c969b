// One optimizer step: forward and backward passes of its batches, clipping, update, averages.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/loading/batch.h"
#include "models/model.h"
#include "optim/ema.h"
#include "optim/optimizer.h"
#include "train/loop/guards.h"
#include "train/loop/step_numbers.h"
#include "train/loop/task.h"
#include "train/loop/trained_group.h"
#include "train/run/run_context.h"
#include "train/run/run_progress.h"
#include "train/run/timers.h"

namespace fovea {

struct EmaOptions {
  bool keep = false;  ///< averages besides the weights themselves
  double decay = 0.9998;
  bool warmup = false;
};

struct StepOptions {
  OptimizerOptions optimizer{};
  ClipOptions clip{};
  EmaOptions ema{};
  GuardOptions guard{};
  bool recompute_blocks = false;  ///< Context::recompute_blocks
  bool any_size = false;          ///< images may have another size than the model's
  bool detect_anomaly = false;
};

class TrainStep {
 public:
  /// The model is trained where its parameters are.
  TrainStep(const StepOptions& options, const RunContext& run, Model& model,
            std::unique_ptr<const Task> task);

  /// Of `batches` batches at rate `lr`, which come as Task::prepare() left them. Counts forward
  /// passes and updates. Returns why the step was skipped, or "".
  std::string run(const std::function<Batch()>& next, std::int64_t batches, double lr,
                  Progress& progress);
  /// Adds the losses of all steps so far to progress.epoch and .interval. Throws on a loss or
  /// gradient that is not finite, unless such steps are skipped. run() does it on the CPU, and
  /// where an update depends on these numbers; else a device is not waited for until this is
  /// called.
  void settle(Progress& progress);

  [[nodiscard]] const Task& task() const { return *task_; }
  /// In the order of Task::split(), which has one group in general.
  [[nodiscard]] std::vector<TrainedGroup*> groups();
  [[nodiscard]] Ema* ema() { return ema_.get(); }
  [[nodiscard]] double gradient_norm() const { return gradient_norm_; }  ///< of the last settled
  [[nodiscard]] std::int64_t images() const { return images_; }          ///< of the last step
  /// All time spent so far.
  [[nodiscard]] StageTimes& times() { return times_; }

 private:
  void begin(const Progress& progress);
  [[nodiscard]] Batch upload_next(const std::function<Batch()>& next);
  [[nodiscard]] TaskLoss forward(const Batch& batch, Progress& progress);
  void backward(const TaskLoss& loss);
  [[nodiscard]] bool rests(std::size_t group) const { return !moved_[group]; }
  void finish_backward();
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
  std::vector<std::unique_ptr<TrainedGroup>> groups_;
  std::vector<bool> moved_;  ///< the groups that a loss of this step moves
  std::unique_ptr<Ema> ema_;
  StepGuard guard_;
  DeferredNumbers numbers_;
  StageTimes times_;
  std::vector<Tensor> buffers_before_;  ///< running statistics, where a step may be skipped
  double gradient_norm_ = 0;
  std::vector<GradientSize> gradients_;  ///< of each group; nothing of one that rests
  std::int64_t images_ = 0;
};

}  // namespace fovea
