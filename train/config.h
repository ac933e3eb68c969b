// Everything that decides what a training run does.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "train/model_settings.h"
#include "train/options.h"

namespace fovea {

/// Values here only keep the struct defined: runs start from a recipe (train/recipes).
struct TrainConfig {
  // Data.
  std::string dataset = "builtin";
  std::string data_dir;
  std::int64_t workers = 2;
  std::int64_t crop_padding = 4;
  double hflip = 0.5;
  std::vector<double> mean{0.4914, 0.4822, 0.4465}, std{0.2470, 0.2435, 0.2616};

  // Model.
  std::string model = "vit_tiny_patch4_32";
  ModelSettings model_settings;
  double drop_path = 0;

  // Optimizer.
  std::int64_t batch_size = 128, val_batch_size = 0, grad_accum_steps = 1;
  std::string opt = "adamw";
  double opt_eps = 1e-8, momentum = 0.9, weight_decay = 0.05;
  std::vector<double> opt_betas{0.9, 0.999};
  std::optional<double> lr;
  double lr_base = 1e-3;
  std::int64_t lr_base_size = 512;
  std::optional<double> clip_grad;

  // Schedule.
  std::int64_t epochs = 200;
  std::string sched = "cosine";
  bool sched_on_updates = true;
  std::int64_t sched_lag = 0;
  double warmup_epochs = 10, warmup_lr = 1e-6, min_lr = 1e-5, decay_epochs = 30, decay_rate = 0.1;

  // Regularisation.
  double smoothing = 0.1, mixup = 0, cutmix = 0, mixup_prob = 1, mixup_switch_prob = 0.5;
  std::int64_t mixup_off_epoch = 0;
  bool model_ema = false;
  double model_ema_decay = 0.9998;

  // Distillation.
  std::string distillation_type = "none";
  double distillation_alpha = 0.5, distillation_tau = 1;
  std::string kd_reduction = "elements";
  std::string teacher, teacher_checkpoint;

  // The run.
  std::string output, config, resume, finetune, initial_checkpoint, peg_load;
  std::int64_t seed = 42;
  std::string device = "cpu", precision = "f32";
  std::int64_t threads = 0;
  std::int64_t log_interval = 50, recovery_interval = 0, max_steps = 0;
  bool eval = false, use_ema = false, detect_anomaly = false;
};

/// Every setting of `config`, bound to it.
[[nodiscard]] Fields fields_of(TrainConfig& config);

/// The rate at the end of the warm-up: --lr, else lr-base scaled by the samples of a step.
[[nodiscard]] double peak_lr(const TrainConfig& config);

/// The settings of the model that differ from the registry's, as a JSON object.
[[nodiscard]] std::string model_overrides(const TrainConfig& config);

/// Throws UsageError where settings do not fit each other.
void check_config(const TrainConfig& config);

}  // namespace fovea
