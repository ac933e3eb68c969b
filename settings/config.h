// Everything that decides what a training run does: the options of its parts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/notices.h"
#include "data/dataset.h"
#include "data/loading/training_images.h"
#include "optim/peak_rate.h"
#include "optim/schedule.h"
#include "settings/initial_weights.h"
#include "settings/model_settings.h"
#include "settings/run_request.h"
#include "settings/task_settings.h"
#include "train/loop/trainer.h"
#include "train/run/recorder.h"
#include "train/run/run_context.h"

namespace fovea {

/// Made by config_for() in train/start/tasks.h, which knows the tasks. Values here only keep it
/// defined: runs start from a recipe (recipes/). What follows from several parts, or from what all
/// share, is resolved by the functions below, once.
struct TrainConfig {
  RunContext run{};
  DatasetOptions data{};
  TrainingImages images{.loader = {.epoch = {.shuffle_buffer = 5000}}};
  TrainingSizes sizes{};
  EvaluateOptions evaluation{.batch_size = 0};  ///< 0: training's
  ModelChoice model{};
  InitialWeights weights{};
  FrozenOptions frozen{};
  StepOptions step{};
  PeakRate rate{};
  ScheduleOptions schedule{.epochs = 200, .warmup_epochs = 10, .milestones = {90, 180, 270}};
  LoopOptions loop{};
  RecorderOptions files{.asynchronous = true};
  RunRequest request{};
  AnyTaskSettings task{};
};

/// Every setting of `config`, bound to it, in the order of --help.
[[nodiscard]] Fields fields_of(TrainConfig& config);

/// Throws UsageError where settings do not fit each other. The following expect that it has been
/// called.
void check_config(const TrainConfig& config);

[[nodiscard]] DatasetOptions dataset_options(const TrainConfig& config);
[[nodiscard]] TrainingImages training_images(const TrainConfig& config);
[[nodiscard]] EvaluateOptions evaluate_options(const TrainConfig& config);
[[nodiscard]] StepOptions step_options(const TrainConfig& config);
[[nodiscard]] ScheduleOptions schedule_options(const TrainConfig& config);
[[nodiscard]] TrainerOptions trainer_options(const TrainConfig& config);
/// The rate at the end of the warm-up.
[[nodiscard]] double peak_lr(const TrainConfig& config);
/// The side of training's square images in an epoch, where it is not the model's, `usual`.
[[nodiscard]] ImageSize training_size(const TrainConfig& config, ImageSize usual,
                                      std::int64_t epoch);

/// Adds what of the settings of the rate is not taken as it stands.
void note_schedule(const TrainConfig& config, Notices& notices);
/// Adds how much of the first weights a run of so many updates leaves in their average, where that
/// is more than a hundredth.
void note_average(const TrainConfig& config, std::int64_t updates, Notices& notices);

}  // namespace fovea
