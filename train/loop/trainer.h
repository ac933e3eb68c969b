// The training loop. It writes no file and prints nothing: a RunObserver is told what happens.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "base/notices.h"
#include "data/dataset.h"
#include "data/loading/training_images.h"
#include "models/model.h"
#include "optim/schedule.h"
#include "train/loop/epoch_cut.h"
#include "train/loop/epoch_meter.h"
#include "train/loop/run_observer.h"
#include "train/loop/step.h"
#include "train/loop/training_sizes.h"
#include "train/run/image_lists.h"
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

/// What may be other than when a state was saved.
struct ResumeOptions {
  bool other_images = false;              ///< the data set: go on with what is there
  std::optional<StepSize> step_before{};  ///< how a step took its images; none: as now
};

class Trainer {
 public:
  /// The model is trained where its parameters are.
  Trainer(TrainerOptions options, Datasets data, std::unique_ptr<Model> model,
          std::unique_ptr<const Task> task);
  Trainer(const Trainer&) = delete;  // its loader knows where it is
  Trainer& operator=(const Trainer&) = delete;

  /// Goes on from a saved state. Call before fit(). Throws, with nothing changed, unless it is one
  /// of this very run and of these images. Returns what its user should be told.
  Notices resume(const std::filesystem::path& state_file, const ResumeOptions& how = {});

  /// Trains to the last epoch: true. Or until asked to stop, after the step under way and a save:
  /// false. The observer is told of it until then, and of nothing later.
  bool fit(RunObserver& observer);
  bool fit();  ///< with nobody watching

  /// One optimizer step: the forward and backward passes of its batches, clipping, update, EMA.
  void train_step();
  /// On the test split, of the weights that the model holds.
  [[nodiscard]] Task::Evaluated evaluate();
  [[nodiscard]] Scores scores(const Task::Evaluated& evaluated) const {
    return step_.task().scores(evaluated.sums);
  }
  [[nodiscard]] const TaskInfo& task() const { return step_.task().info(); }
  /// What its task has to say before the run.
  [[nodiscard]] Notices notices() const { return step_.task().notices(); }

  /// Handles to all that a checkpoint holds.
  [[nodiscard]] TrainState state();
  [[nodiscard]] const Progress& progress() const { return progress_; }
  [[nodiscard]] Model& model() { return *model_; }
  [[nodiscard]] const Datasets& data() const { return data_; }
  [[nodiscard]] std::int64_t steps_per_epoch() const;
  [[nodiscard]] std::int64_t epochs() const { return epochs_; }  ///< with cool-down

  /// The rate of matrix products that a perfect run would reach, in FLOP/s, as measured on this
  /// machine: see EpochMeter::set_peak_rate().
  void set_peak_rate(double flops);

 private:
  class Watched;
  void start_loader();
  bool train_epoch();
  bool finish_epoch();
  void after_step();
  void note_bad_images(const std::vector<BrokenImage>& images);
  void naming_the_step(const std::function<void()>& act) const;
  void settle();
  void require_finite();
  [[noreturn]] void refuse_to_save(const std::string& what) const;
  [[nodiscard]] Task::Evaluated evaluate_to_save();
  [[nodiscard]] StepSize step_size() const;
  [[nodiscard]] EpochCut cut_of(std::int64_t images, StepSize step) const;
  void compare_images(const ImageLists& saved, bool accept, const std::string& where,
                      Notices& notices) const;
  [[nodiscard]] bool must_stop() const;
  [[nodiscard]] PrepareBatch preparation() const;
  [[nodiscard]] Batch next_batch();
  [[nodiscard]] double rate_now() const;
  void log_interval();
  [[nodiscard]] bool evaluate_into(EpochRow& row, Scores& scores);
  [[nodiscard]] bool evaluate_weights(EpochRow& row);
  void show_picture();
  [[nodiscard]] ImageSize own_size() const;    ///< the model's
  [[nodiscard]] ImageSize usual_size() const;  ///< of training images; 0 x 0: each has its own
  /// Of training images.
  [[nodiscard]] ImageSize size_of_epoch(std::int64_t epoch) const;

  TrainerOptions options_;
  Datasets data_;
  std::unique_ptr<Model> model_;
  TrainStep step_;
  std::int64_t epochs_;
  std::string images_;  ///< ImageLists of data_, as its state has them
  std::unique_ptr<Loader> loader_;
  ImageSize loader_size_{};
  std::optional<Batch> only_batch_;   ///< --overfit-batch
  std::set<std::string> bad_images_;  ///< messages about the broken images met so far
  Progress progress_;
  EpochMeter meter_;
  double lr_ = 0;  ///< of the last step
  RunObserver nobody_;
  RunObserver* observer_ = &nobody_;  ///< for the time of fit() who watches
};

}  // namespace fovea
