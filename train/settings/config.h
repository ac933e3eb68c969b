// TrainConfig: all settings that determine a training run, grouped by component.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/loading/training_images.h"
#include "engine/base/fields.h"
#include "engine/base/notices.h"
#include "train/loop/trainer_options.h"
#include "train/optim/peak_rate.h"
#include "train/optim/schedule.h"
#include "train/run/recorder.h"
#include "train/run/run_settings.h"
#include "train/settings/initial_weights.h"
#include "train/settings/model_settings.h"
#include "train/settings/run_request.h"
#include "train/settings/task_settings.h"

namespace fovea {

/// Made by config_for() in train/start/tasks.h. The defaults here only keep every member defined:
/// runs start from a recipe (recipes/). Values that depend on several parts are resolved once, by
/// the functions below.
struct TrainConfig {
  RunContext run{};
  DatasetOptions data{};
  TrainingImages images{.loader = {.epoch = {.shuffle_buffer = 5000}}};
  TrainingSizes sizes{};
  EvaluateOptions evaluation{.batch_size = 0};  ///< 0: training's batch size
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
  Sources sources{};  ///< where apply_settings() took the settings from
};

/// Fields of all settings, bound to `config`, in the order of --help.
[[nodiscard]] Fields fields_of(TrainConfig& config);

/// Source of settings that follow from others, from the data or from the number of processes.
inline constexpr const char* kDerived = "derived";

/// Sets fields of `config` and records their sources. Throws UsageError, see set_fields().
void apply_settings(TrainConfig& config, const std::vector<Setting>& settings);

/// Throws UsageError if settings contradict each other. The functions below require that this check
/// has passed.
void check_config(const TrainConfig& config);

[[nodiscard]] DatasetOptions dataset_options(const TrainConfig& config);
[[nodiscard]] TrainingImages training_images(const TrainConfig& config);
[[nodiscard]] EvaluateOptions evaluate_options(const TrainConfig& config);
[[nodiscard]] StepOptions step_options(const TrainConfig& config);
[[nodiscard]] ScheduleOptions schedule_options(const TrainConfig& config);
[[nodiscard]] TrainerOptions trainer_options(const TrainConfig& config);
/// The learning rate at the end of the warm-up.
[[nodiscard]] double peak_lr(const TrainConfig& config);
/// Size of training's square images in an epoch, if it differs from the model's size, `usual`.
[[nodiscard]] ImageSize training_size(const TrainConfig& config, ImageSize usual,
                                      std::int64_t epoch);

/// Makes a decay that the recipe has for more epochs the usual part of those that are left.
void fit_decay(TrainConfig& config, Notices& notices);

/// Adds notes about learning rate settings that are not applied literally.
void note_schedule(const TrainConfig& config, Notices& notices);
/// Adds a note if the initial weights make up more than one percent of the averaged weights after
/// this number of updates.
void note_average(const TrainConfig& config, std::int64_t updates, Notices& notices);

}  // namespace fovea
