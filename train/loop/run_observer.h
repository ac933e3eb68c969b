// Who watches a run: told what happens while it trains, and asked whether it should go on.
#pragma once

#include <cstdint>
#include <string>

#include "data/image.h"
#include "engine/tensor.h"
#include "train/run/run_log.h"
#include "train/run/run_state.h"

namespace fovea {

/// Where an epoch is, for a progress line.
struct EpochPosition {
  std::int64_t epoch = 0, epochs = 0;
  std::int64_t step = 0, steps = 0;  ///< done in this epoch, and its number
  double seconds = 0;                ///< spent on the steps done since the start or resume
  std::int64_t steps_timed = 0;      ///< how many those are
  double loss = 0, lr = 0;           ///< mean of the epoch; of the step
  double img_s = 0;
  double wait_share = 0;  ///< of the time, spent waiting for the loader
};

/// Overrides what it wants to know; all calls come from the thread that trains.
class RunObserver {
 public:
  RunObserver() = default;
  virtual ~RunObserver() = default;
  RunObserver(const RunObserver&) = default;
  RunObserver& operator=(const RunObserver&) = default;

  /// After every step.
  virtual void step(const EpochPosition& /*at*/) {}
  /// Every log interval.
  virtual void interval(const StepRow& /*row*/) {}
  /// After every batch of an evaluation.
  virtual void evaluation(std::int64_t /*done*/, std::int64_t /*total*/) {}
  /// Before epoch(): what the model makes of held-out images, where its task has such a picture.
  virtual void picture(std::int64_t /*epoch*/, const Image& /*picture*/) {}
  /// After an epoch and its evaluation: the time to log it and to save.
  virtual void epoch(const EpochRow& /*row*/, const TrainState& /*state*/) {}
  /// Between epochs' ends, every recovery interval.
  virtual void save(const TrainState& /*state*/) {}
  /// The run was asked to stop and does.
  virtual void stop(const TrainState& /*state*/) {}
  /// Something that its user should know, like a step that was skipped.
  virtual void notice(const std::string& /*text*/) {}
  /// The images of the run's first batch, as the model sees them: f32 [B, 3, H, W], normalised.
  virtual void first_images(const Tensor& /*images*/) {}

  /// Asked after every step and every batch of an evaluation.
  [[nodiscard]] virtual bool asks_to_stop() { return false; }
};

}  // namespace fovea
