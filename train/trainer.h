// The training loop. It writes no file and prints nothing: a TrainWatch is told what happens.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "data/dataset.h"
#include "data/loader.h"
#include "models/model.h"
#include "train/checkpoint.h"
#include "train/config.h"
#include "train/ema.h"
#include "train/evaluate.h"
#include "train/objective.h"
#include "train/optimizer.h"
#include "train/run_log.h"
#include "train/schedule.h"

namespace fovea {

struct Datasets {
  std::shared_ptr<const Dataset> train, test;
};

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

/// Who watches; each may be empty.
struct TrainWatch {
  std::function<void(const EpochPosition&)> on_step{};
  std::function<void(const StepRow&)> on_interval{};
  std::function<void(std::int64_t done, std::int64_t total)> on_evaluate{};
  /// After an epoch and its evaluation: the time to log it and to save.
  std::function<void(const EpochRow&, const TrainState&)> on_epoch{};
  /// Between epochs' ends, every recovery interval.
  std::function<void(const TrainState&)> on_save{};
  /// The run was asked to stop and does.
  std::function<void(const TrainState&)> on_stop{};
  /// Asked after every step and every batch of an evaluation.
  std::function<bool()> should_stop{};
};

class Trainer {
 public:
  /// `config` has been checked. The model is trained where its parameters are.
  Trainer(const TrainConfig& config, Datasets data, std::unique_ptr<Model> model);

  /// Goes on from a saved state. Call before fit().
  void resume(const std::filesystem::path& state_file);

  /// Trains to the last epoch: true. Or until asked to stop, after the step under way and a save:
  /// false.
  bool fit(const TrainWatch& watch);

  /// One optimizer step: the forward and backward passes of its batches, clipping, update, EMA.
  void train_step();
  /// Of the plain weights, on the test split.
  [[nodiscard]] Evaluation evaluate(const TrainWatch& watch = {});

  /// Handles to all that a checkpoint holds.
  [[nodiscard]] TrainState state();
  [[nodiscard]] const Progress& progress() const { return progress_; }
  [[nodiscard]] Model& model() { return *model_; }
  [[nodiscard]] const Datasets& data() const { return data_; }
  [[nodiscard]] std::int64_t steps_per_epoch() const;

 private:
  using Clock = std::chrono::steady_clock;

  /// Time and images since some moment, for rates.
  struct Stopwatch {
    Clock::time_point start = Clock::now();
    double waited = 0;  ///< the loader's clock at the start
    std::int64_t images = 0, steps = 0;
    [[nodiscard]] double seconds() const {
      return std::chrono::duration<double>(Clock::now() - start).count();
    }
  };

  void start_loader();
  bool train_epoch(const TrainWatch& watch);
  bool finish_epoch(const TrainWatch& watch);
  void after_step(const TrainWatch& watch);
  [[nodiscard]] bool must_stop(const TrainWatch& watch) const;
  void forward_backward(const Batch& batch);
  [[nodiscard]] Targets mix_batch(Batch& batch) const;
  void update(std::int64_t batches);
  void check_first_gradients() const;
  void log_interval(const TrainWatch& watch);
  [[nodiscard]] EpochPosition position() const;
  void note_best(const EpochRow& row);

  TrainConfig config_;
  Datasets data_;
  std::unique_ptr<Model> model_;
  Objective objective_;
  Optimizer optimizer_;
  std::unique_ptr<Ema> ema_;
  ScheduleOptions schedule_;
  std::unique_ptr<Loader> loader_;
  Progress progress_;
  Stopwatch epoch_watch_, interval_watch_;
  double lr_ = 0, gradient_norm_ = 0;  ///< of the last step
};

[[nodiscard]] OptimizerOptions optimizer_options(const TrainConfig& config);
[[nodiscard]] ScheduleOptions schedule_options(const TrainConfig& config);
[[nodiscard]] Normalization normalization_of(const TrainConfig& config);

}  // namespace fovea
