// The training loop. It writes no file and prints nothing: a TrainWatch is told what happens.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "data/dataset.h"
#include "data/loading/training_images.h"
#include "models/model.h"
#include "optim/schedule.h"
#include "train/loop/step.h"
#include "train/loop/training_sizes.h"
#include "train/run/run_log.h"
#include "train/run/run_state.h"

namespace fovea {

struct Datasets {
  std::shared_ptr<const Dataset> train, test;
};

struct LoopOptions {
  std::int64_t grad_accum_steps = 1;  ///< batches of a step
  std::int64_t cooldown_epochs = 0;
  std::int64_t log_interval = 50, recovery_interval = 0;  ///< in steps; 0: never
  std::int64_t max_steps = 0;                             ///< stop after so many; 0: do not
  bool overfit_batch = false;                             ///< the first batch over and over
};

struct TrainerOptions : LoopOptions {
  RunContext run{};
  StepOptions step{};
  ScheduleOptions schedule{};
  TrainingImages images{};
  TrainingSizes sizes{};
  EvaluateOptions evaluation{};  ///< after every epoch
  std::string settings{};        ///< JSON of what the run was told, kept in its state
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
  /// Before on_epoch: what the model makes of held-out images, where its task has such a picture.
  std::function<void(std::int64_t epoch, const Image&)> on_picture{};
  /// Between epochs' ends, every recovery interval.
  std::function<void(const TrainState&)> on_save{};
  /// The run was asked to stop and does.
  std::function<void(const TrainState&)> on_stop{};
  /// Something that its user should know, like a step that was skipped.
  std::function<void(const std::string&)> on_notice{};
  /// The images of the run's first batch, as the model sees them: f32 [B, 3, H, W], normalised.
  std::function<void(const Tensor&)> on_first_images{};
  /// Asked after every step and every batch of an evaluation.
  std::function<bool()> should_stop{};
};

class Trainer {
 public:
  /// The model is trained where its parameters are.
  Trainer(TrainerOptions options, Datasets data, std::unique_ptr<Model> model,
          std::unique_ptr<const Task> task);

  /// Goes on from a saved state. Call before fit().
  void resume(const std::filesystem::path& state_file);

  /// Trains to the last epoch: true. Or until asked to stop, after the step under way and a save:
  /// false.
  bool fit(const TrainWatch& watch);

  /// One optimizer step: the forward and backward passes of its batches, clipping, update, EMA.
  void train_step();
  /// On the test split, of the weights that the model holds.
  [[nodiscard]] Task::Evaluated evaluate(const TrainWatch& watch = {});
  [[nodiscard]] const TaskInfo& task() const { return step_.task().info(); }

  /// Handles to all that a checkpoint holds.
  [[nodiscard]] TrainState state();
  [[nodiscard]] const Progress& progress() const { return progress_; }
  [[nodiscard]] Model& model() { return *model_; }
  [[nodiscard]] const Datasets& data() const { return data_; }
  [[nodiscard]] std::int64_t steps_per_epoch() const;
  [[nodiscard]] std::int64_t epochs() const { return epochs_; }  ///< with cool-down

  /// The rate of matrix products that a perfect run would reach, in FLOP/s: logs then say which
  /// part of it the run does (MFU).
  void set_peak_rate(double flops);

 private:
  void start_loader();
  bool train_epoch(const TrainWatch& watch);
  bool finish_epoch(const TrainWatch& watch);
  void after_step(const TrainWatch& watch);
  void note_bad_images(const std::vector<std::string>& messages, const TrainWatch& watch);
  void naming_the_step(const std::function<void()>& act) const;
  void settle();
  void require_finite();
  [[noreturn]] void refuse_to_save(const std::string& what) const;
  [[nodiscard]] Task::Evaluated evaluate_to_save(const TrainWatch& watch);
  void check_place(const Progress& progress, const std::string& file) const;
  [[nodiscard]] bool must_stop(const TrainWatch& watch) const;
  void connect(const TrainWatch& watch);
  [[nodiscard]] Batch next_batch();
  [[nodiscard]] double rate_now() const;
  void log_interval(const TrainWatch& watch);
  [[nodiscard]] EpochPosition position();
  [[nodiscard]] EpochRow epoch_row();
  bool evaluate_into(EpochRow& row, const TrainWatch& watch);
  void show_picture(const TrainWatch& watch);
  [[nodiscard]] std::optional<double> utilisation(double images_per_second) const;
  [[nodiscard]] Stopwatch started();
  void note_best(const Scores& scores, BestEpoch& best) const;
  [[nodiscard]] ImageSize own_size() const;
  /// Of training images.
  [[nodiscard]] ImageSize size_of_epoch(std::int64_t epoch) const;

  TrainerOptions options_;
  Datasets data_;
  std::unique_ptr<Model> model_;
  TrainStep step_;
  std::int64_t epochs_;
  std::unique_ptr<Loader> loader_;
  ImageSize loader_size_{};
  std::optional<Batch> only_batch_;   ///< --overfit-batch
  std::set<std::string> bad_images_;  ///< messages about the broken images met so far
  Progress progress_;
  Stopwatch epoch_watch_, interval_watch_;
  std::function<void(const std::string&)> on_wait_{};  ///< for the images
  double lr_ = 0;                                      ///< of the last step
  double peak_rate_ = 0, image_flops_ = 0;  ///< 0: not known; forward and backward of an image
};

}  // namespace fovea
