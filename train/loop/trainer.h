// The training loop. It writes no files and prints nothing; a RunObserver receives all events.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/loading/loader.h"
#include "engine/base/notices.h"
#include "models/model.h"
#include "train/loop/broken_images.h"
#include "train/loop/epoch_evaluation.h"
#include "train/loop/epoch_layout.h"
#include "train/loop/epoch_meter.h"
#include "train/loop/evaluation_pass.h"
#include "train/loop/run_fingerprint.h"
#include "train/loop/run_observer.h"
#include "train/loop/step.h"
#include "train/loop/trainer_options.h"
#include "train/run/run_state.h"

namespace fovea {

/// Differences from the saved run that are accepted.
struct ResumeOptions {
  bool other_images = false;  ///< resume even if the data set differs
  /// Batch size and accumulation of the saved run; empty: the same as in this run.
  std::optional<StepSize> step_before{};
};

/// As a BatchSource it gives its step the loader's batches, or with overfit_batch the first one.
class Trainer : private BatchSource {
 public:
  /// Trains the model on the device of its parameters.
  Trainer(TrainerOptions options, Datasets data, std::unique_ptr<Model> model,
          std::unique_ptr<const Task> task);
  Trainer(const Trainer&) = delete;  // its loader and its evaluation refer to its address
  Trainer& operator=(const Trainer&) = delete;

  /// Resumes from a saved state. Call it before fit(). Throws, without changing anything, unless
  /// the state belongs to this run and these images. Returns messages for the user.
  Notices resume(const std::filesystem::path& state_file, const ResumeOptions& how = {});

  /// Copies weights, averages, moments and progress of the first process to all others, which need
  /// no files for them. Throws if the processes have different images.
  void share_state();

  /// Trains to the last epoch and returns true; or, if asked to stop, finishes the current step,
  /// saves and returns false. If too many training images are broken, saves the last whole step and
  /// throws TooManyBadImages. The observer is used only during this call.
  bool fit(RunObserver& observer);
  bool fit() { return fit(nobody_); }

  /// The next batch on the model's device, as train_step() would take it: for loops of one's own.
  [[nodiscard]] Batch take_batch();
  /// One optimizer step: the forward and backward passes of its batches, clipping, update, EMA.
  void train_step();
  /// Evaluates the current weights on the test split.
  [[nodiscard]] EvaluationResult evaluate() { return evaluation_.evaluate(*observer_); }
  [[nodiscard]] Scores scores(const EvaluationResult& evaluated) const {
    return step_.task().scores(evaluated);
  }
  [[nodiscard]] const TaskInfo& task() const { return step_.task().info(); }
  /// The task's messages for the user before the run.
  [[nodiscard]] Notices notices() const {
    Notices all = step_.task().notices();
    if (data_.test != nullptr) all.add_all(step_.task().evaluation_notices(*data_.test));
    all.add_all(step_.notices());
    return all;
  }

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
  /// Whether pixels of 8-bit images go to the device as bytes: see Batch::raw.
  [[nodiscard]] bool uploads_bytes() const { return loader_->options().rows.raw; }
  [[nodiscard]] std::int64_t epochs() const { return epochs_; }  ///< including the cool-down

  /// Sets the peak rate for utilisation, in FLOP/s: that of this process, see
  /// EpochMeter::set_peak_rate().
  void set_peak_rate(double flops) { meter_.set_peak_rate(flops); }

 private:
  class Watched;
  bool train_epoch();
  void step_and_report();
  void after_step();
  void log_interval();
  void tell_of_step();  ///< tells the observer what the step has to say
  bool finish_epoch();
  /// See EpochEvaluation::run(). Tells the observer of a refusal.
  bool evaluate_epoch(EpochRow& row);
  /// Waits until all processes are here: an error of one ends the others, also the first while it
  /// writes files.
  void wait_for_all() const;
  /// Calls act() and adds the step and epoch to the message of an error.
  void with_step_in_errors(const std::function<void()>& act) const;
  /// Calls TrainStep::read_back(); see with_step_in_errors().
  void read_back();
  /// The state to save, with the numbers of all steps so far. Throws if it is not finite.
  TrainState finite_state();
  [[nodiscard]] StepSize step_size() const;
  [[nodiscard]] EpochLayout layout_of(std::int64_t images, StepSize step) const;
  [[nodiscard]] bool must_stop() const;
  [[nodiscard]] PrepareBatch preparation() const;
  [[nodiscard]] Batch next() override;
  [[nodiscard]] double rate_at(std::int64_t step) const;  ///< learning rate
  void start_loader();
  /// Size of training images, the model's; 0 x 0: each has its own.
  [[nodiscard]] ImageSize usual_size() const;
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
  BrokenImages broken_images_;
  RunFingerprint fingerprint_;
  EpochEvaluation evaluation_;
  Progress progress_;
  EpochMeter meter_;
  double lr_ = 0;  ///< learning rate of the last step
  RunObserver nobody_;
  RunObserver* observer_ = &nobody_;  ///< set during fit()
};

}  // namespace fovea
