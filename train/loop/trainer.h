// The training loop. It writes no files and prints nothing; a RunObserver receives all events.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "data/dataset.h"
#include "data/loading/training_images.h"
#include "engine/base/notices.h"
#include "engine/comm/communicator.h"
#include "models/model.h"
#include "train/loop/epoch_layout.h"
#include "train/loop/epoch_meter.h"
#include "train/loop/run_observer.h"
#include "train/loop/step.h"
#include "train/loop/training_sizes.h"
#include "train/optim/schedule.h"
#include "train/run/image_lists.h"
#include "train/run/run_log.h"
#include "train/run/run_state.h"

namespace fovea {

struct Datasets {
  std::shared_ptr<const Dataset> train, test;
};

struct LoopOptions {
  /// Parts of each batch that are computed on their own, over all processes: a power of two. 0: one
  /// for each process, added up by the engine's all-reduce.
  std::int64_t shards = 1;
  std::int64_t zero = 0;              ///< 1: the optimizer's state is sharded, see portions.h
  std::int64_t grad_accum_steps = 1;  ///< batches per step
  std::int64_t cooldown_epochs = 0;
  std::int64_t log_interval = 50, recovery_interval = 0;  ///< in steps; 0: never
  std::int64_t fingerprint_interval = 0;                  ///< in steps; 0: an epoch
  std::int64_t max_steps = 0;  ///< stop after this many steps; 0: no limit
  bool overfit_batch = false;  ///< train on the first batch only
};

struct TrainerOptions : LoopOptions {
  RunContext run{};
  StepOptions step{};
  ScheduleOptions schedule{};
  TrainingImages images{};
  TrainingSizes sizes{};
  EvaluateOptions evaluation{};        ///< evaluation after every epoch
  std::string settings{};              ///< JSON of the run's settings, saved in its state
  Communicator* processes = &alone();  ///< all of them make the same calls of the trainer
};

/// Differences from the saved run that are accepted.
struct ResumeOptions {
  bool other_images = false;  ///< resume even if the data set differs
  /// Batch size and accumulation of the saved run; empty: the same as in this run.
  std::optional<StepSize> step_before{};
};

class Trainer {
 public:
  /// Trains the model on the device of its parameters.
  Trainer(TrainerOptions options, Datasets data, std::unique_ptr<Model> model,
          std::unique_ptr<const Task> task);
  Trainer(const Trainer&) = delete;  // its loader refers to its address
  Trainer& operator=(const Trainer&) = delete;

  /// Resumes from a saved state. Call it before fit(). Throws, without changing anything, unless
  /// the state belongs to this run and these images. Returns messages for the user.
  Notices resume(const std::filesystem::path& state_file, const ResumeOptions& how = {});

  /// Copies weights, averages, moments and progress of the first process to all others, which need
  /// no files for them. Throws if the processes have different images.
  void share_state();

  /// Trains to the last epoch and returns true; or, if asked to stop, finishes the current step,
  /// saves and returns false. The observer is used only during this call.
  bool fit(RunObserver& observer);
  bool fit();  ///< trains without an observer

  /// One optimizer step: the forward and backward passes of its batches, clipping, update, EMA.
  void train_step();
  /// Evaluates the current weights on the test split.
  [[nodiscard]] Task::Evaluated evaluate();
  [[nodiscard]] Scores scores(const Task::Evaluated& evaluated) const {
    return step_.task().scores(evaluated.sums);
  }
  [[nodiscard]] const TaskInfo& task() const { return step_.task().info(); }
  /// The task's messages for the user before the run.
  [[nodiscard]] Notices notices() const { return step_.task().notices(); }

  /// Everything in a checkpoint. All processes call it.
  [[nodiscard]] TrainState state();
  /// The averaged weights, in every process. Empty without EMA. All processes call it.
  [[nodiscard]] std::map<std::string, Tensor> averages() {
    return step_.averages(/*everywhere=*/true);
  }
  [[nodiscard]] const Progress& progress() const { return progress_; }
  [[nodiscard]] Model& model() { return *model_; }
  [[nodiscard]] const Datasets& data() const { return data_; }
  [[nodiscard]] Communicator& processes() const { return *options_.processes; }
  [[nodiscard]] std::int64_t steps_per_epoch() const;
  [[nodiscard]] std::int64_t epochs() const { return epochs_; }  ///< including the cool-down

  /// Sets the peak rate for utilisation, in FLOP/s: the matrix multiplication rate measured in one
  /// process, see EpochMeter::set_peak_rate().
  void set_peak_rate(double flops);

 private:
  class Watched;
  void start_loader();
  bool train_epoch();
  bool finish_epoch();
  void after_step();
  void note_bad_images(const std::vector<BrokenImage>& images);
  void note_training_images(const std::vector<BrokenImage>& own);
  /// Calls act() and adds the step and epoch to the message of an error.
  void naming_the_step(const std::function<void()>& act) const;
  /// Calls TrainStep::settle(); see naming_the_step().
  void settle();
  /// Throws if a tensor of the run's state is not finite.
  void require_finite();
  [[noreturn]] void refuse_to_save(const std::string& what) const;
  [[nodiscard]] Task::Evaluated evaluate_to_save();
  [[nodiscard]] StepSize step_size() const;
  [[nodiscard]] EpochLayout layout_of(std::int64_t images, StepSize step) const;
  void compare_images(const ImageLists& saved, bool accept, const std::string& where,
                      Notices& notices) const;
  [[nodiscard]] bool must_stop() const;
  [[nodiscard]] PrepareBatch preparation() const;
  [[nodiscard]] Batch next_batch();
  [[nodiscard]] double rate_now() const;
  void log_interval();
  /// Adds the images of a step of `batches` batches to the run's fingerprints.
  void note_images(Cursor first, std::int64_t batches);
  [[nodiscard]] bool fingerprint_is_due() const;
  /// The fingerprint at this step, "" in all processes but the first.
  [[nodiscard]] std::string fingerprint();
  [[nodiscard]] bool evaluate_into(EpochRow& row, Scores& scores);
  [[nodiscard]] bool evaluate_weights(EpochRow& row);
  void show_picture();
  [[nodiscard]] ImageSize own_size() const;    ///< the model's image size
  [[nodiscard]] ImageSize usual_size() const;  ///< size of training images; 0 x 0: each has its own
  /// Size of the training images in an epoch.
  [[nodiscard]] ImageSize size_of_epoch(std::int64_t epoch) const;

  TrainerOptions options_;
  Datasets data_;
  std::unique_ptr<Model> model_;
  TrainStep step_;
  std::int64_t epochs_;
  std::string images_;  ///< ImageLists of data_, as stored in the run's state
  std::unique_ptr<Loader> loader_;
  ImageSize loader_size_{};
  std::vector<Batch> only_batches_;  ///< --overfit-batch: this process's shards of the first
  std::set<std::int64_t> bad_training_images_;  ///< indices
  std::set<std::string> bad_images_;  ///< messages about broken images, to report each once
  Progress progress_;
  EpochMeter meter_;
  double lr_ = 0;  ///< learning rate of the last step
  RunObserver nobody_;
  RunObserver* observer_ = &nobody_;  ///< set during fit()
};

}  // namespace fovea
