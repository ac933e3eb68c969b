// Callbacks of a training run: progress, logs, checkpoints, and requests to stop.
#pragma once

#include <cstdint>
#include <string>

#include "data/image.h"
#include "train/run/run_log.h"
#include "train/run/run_state.h"

namespace fovea {

struct ShownBatch;

/// Position within an epoch, for a progress line.
struct EpochPosition {
  std::int64_t epoch = 0, epochs = 0;
  std::int64_t step = 0, steps = 0;  ///< steps done in this epoch, and its total
  double seconds = 0;                ///< time of the steps done since the start or resume
  std::int64_t steps_timed = 0;      ///< number of those steps
  double loss = 0, lr = 0;           ///< loss: mean of the epoch; lr: of the step
  double img_s = 0;
  double wait_share = 0;  ///< fraction of the time spent waiting for the loader
};

/// Override the callbacks of interest; all calls come from the training thread.
class RunObserver {
 public:
  RunObserver() = default;
  virtual ~RunObserver() = default;
  RunObserver(const RunObserver&) = default;
  RunObserver& operator=(const RunObserver&) = default;

  /// Called first if the run continues from a saved state, with this state.
  virtual void resumed(const TrainState& /*state*/) {}
  /// Called after every step.
  virtual void step(const EpochPosition& /*at*/) {}
  /// Called at every log interval.
  virtual void interval(const StepRow& /*row*/) {}
  /// Called before an epoch's evaluation with the state to keep, however the evaluation ends,
  /// unless refused() follows.
  virtual void before_evaluation(const TrainState& /*state*/) {}
  /// Called if the outputs of that evaluation were not finite, before fit() throws.
  virtual void refused() {}
  /// Called after every batch of an evaluation.
  virtual void evaluation(std::int64_t /*done*/, std::int64_t /*total*/) {}
  /// Called before epoch() with a picture of the model's output on held-out images, if the task has
  /// one.
  virtual void picture(std::int64_t /*epoch*/, const Image& /*picture*/) {}
  /// Called after an epoch and its evaluation, to log and save it.
  virtual void epoch(const EpochRow& /*row*/, const TrainState& /*state*/) {}
  /// Called at every recovery interval, except at the end of an epoch.
  virtual void save(const TrainState& /*state*/) {}
  /// Called when the run stops on request, or because too many training images are broken.
  virtual void stop(const TrainState& /*state*/) {}
  /// Called with messages for the user, for example about a skipped step.
  virtual void notice(const std::string& /*text*/) {}
  /// Called with the run's first batch, as the model sees it.
  virtual void first_images(const ShownBatch& /*batch*/) {}

  /// Polled after every step and every batch of an evaluation; true stops the run.
  [[nodiscard]] virtual bool asks_to_stop() { return false; }
};

}  // namespace fovea
