// One optimizer step: forward and backward passes of its batches, clipping, update, averages.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/augment/mixup.h"
#include "data/loading/batch.h"
#include "models/model.h"
#include "optim/ema.h"
#include "optim/gradients.h"
#include "optim/optimizer.h"
#include "train/checkpoint.h"
#include "train/guards.h"
#include "train/objective.h"
#include "train/timers.h"

namespace fovea {

struct EmaOptions {
  double decay = 0.9998;
  bool warmup = false;
};

struct ClipOptions {
  ClipMode mode = ClipMode::norm;
  double limit = 1;
};

struct StepOptions {
  ObjectiveOptions objective{};
  std::optional<MixOptions> mix{};  ///< what is done to the images of a batch
  std::int64_t mix_epochs = 0;      ///< only in so many first epochs; 0: in all
  OptimizerOptions optimizer{};
  std::optional<ClipOptions> clip{};
  std::optional<EmaOptions> ema{};
  GuardOptions guard{};
  DType activations = DType::f32;
  bool recompute_blocks = false;  ///< Context::recompute_blocks
  bool any_size = false;          ///< images may have another size than the model's
  bool detect_anomaly = false;
  std::uint64_t seed = 0;
};

class TrainStep {
 public:
  /// `samples` is the size of the training split. The model is trained where its parameters are.
  TrainStep(const StepOptions& options, Model& model, std::int64_t samples);

  /// Of `batches` batches at rate `lr`. Adds losses to progress.epoch, counts forward passes and
  /// updates. Throws on a loss or gradient that is not finite, unless such steps are skipped.
  void run(const std::function<Batch()>& next, std::int64_t batches, double lr, Progress& progress);

  [[nodiscard]] Optimizer& optimizer() { return optimizer_; }
  [[nodiscard]] Ema* ema() { return ema_.get(); }
  [[nodiscard]] double gradient_norm() const { return gradient_norm_; }  ///< of the last step
  /// All time spent so far.
  [[nodiscard]] StageTimes& times() { return times_; }

  /// Told why a step was skipped.
  std::function<void(const std::string& reason)> on_skip{};
  /// Shown the images of each batch as the model sees them.
  std::function<void(const Tensor& images)> on_images{};

 private:
  void forward_backward(const Batch& given, Progress& progress);
  [[nodiscard]] Targets mix_batch(Batch& batch, const Progress& progress) const;
  void update(std::int64_t batches, double lr, Progress& progress);
  void keep_buffers();
  void restore_buffers() const;
  [[nodiscard]] double clip(double scale);
  void check_first_gradients() const;

  StepOptions options_;
  Model& model_;
  Objective objective_;
  Optimizer optimizer_;
  std::unique_ptr<Ema> ema_;
  StepGuard guard_;
  StageTimes times_;
  std::vector<Tensor> buffers_before_;  ///< running statistics, where a step may be skipped
  double loss_sum_ = 0;                 ///< of the step under way, over its batches
  double gradient_norm_ = 0;
};

}  // namespace fovea
