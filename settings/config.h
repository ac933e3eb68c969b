// Everything that decides what a training run does.
#pragma once

#include <cstdint>
#include <optional>
#include <regex>
#include <string>
#include <vector>

#include "base/fields.h"
#include "data/augment/mixup.h"
#include "data/augment/training_pipeline.h"
#include "data/dataset.h"
#include "data/evaluation_transform.h"
#include "engine/dtype.h"
#include "ops/loss.h"
#include "optim/gradients.h"
#include "optim/optimizer.h"
#include "optim/schedule.h"
#include "settings/choices.h"
#include "settings/model_settings.h"

namespace fovea {

/// Values here only keep the struct defined: runs start from a recipe (recipes/).
struct TrainConfig {
  // Data.
  std::string dataset = "builtin";
  std::string data_dir, train_split, val_split, class_map, index_cache;
  std::string classes;
  BadImages on_bad_image = BadImages::stop;
  double fraction = 1;
  FractionRule fraction_rule = FractionRule::drawn;
  std::int64_t aug_repeats = 0, shuffle_buffer = 5000;
  bool fast_decode = false, verify_data = false;
  std::int64_t workers = 2;
  std::vector<double> train_img_sizes;
  SizeSchedule train_size_schedule = SizeSchedule::progressive;
  std::vector<double> mean{0.4914, 0.4822, 0.4465}, std{0.2470, 0.2435, 0.2616};

  // Augmentation (settings/augmentation.cpp has their list).
  TrainCrop train_crop_mode = TrainCrop::pad;
  Padding crop_padding_mode = Padding::constant;
  std::int64_t crop_padding = 4;
  std::vector<double> scale{0.08, 1}, ratio{3.0 / 4, 4.0 / 3};
  std::string train_interpolation = "bicubic";  ///< a filter's name, or random
  Filter interpolation = Filter::bicubic;
  double crop_pct = 0.875;
  CropMode crop_mode = CropMode::automatic;
  double hflip = 0.5, vflip = 0;
  std::string aa;
  std::vector<double> color_jitter{0};
  double color_jitter_prob = 1, grayscale_prob = 0, gaussian_blur_prob = 0;
  double reprob = 0;
  EraseFill remode = EraseFill::pixel;
  std::int64_t recount = 1, aug_splits = 0;
  bool resplit = false;
  MixMode mixup_mode = MixMode::batch;
  std::vector<double> cutmix_minmax;

  // Model.
  std::string model = "vit_tiny_patch4_32";
  ModelSettings model_settings;
  double drop_path = 0;
  bool grad_checkpointing = false;
  InitialValues init = InitialValues::timm;
  std::optional<double> head_init_scale, head_init_bias;

  // Optimizer.
  std::int64_t batch_size = 128, val_batch_size = 0, grad_accum_steps = 1;
  OptimizerKind opt = OptimizerKind::adamw;
  std::optional<double> opt_eps;  ///< none: the optimizer's own, as for its betas
  std::vector<double> opt_betas;
  double momentum = 0.9, weight_decay = 0.05, layer_decay = 1;
  LastNorm layer_decay_norm = LastNorm::with_block;
  bool no_decay_dist = false, linear_probe = false;
  std::string freeze;
  std::optional<double> lr;
  double lr_base = 1e-3;
  std::int64_t lr_base_size = 512;
  RateScale lr_base_scale = RateScale::linear;
  std::optional<double> clip_grad;
  ClipMode clip_mode = ClipMode::norm;

  // Schedule.
  std::int64_t epochs = 200;
  ScheduleKind sched = ScheduleKind::cosine;
  bool sched_on_updates = true;
  std::int64_t sched_lag = 0, cooldown_epochs = 0, patience_epochs = 10;
  double warmup_epochs = 10, warmup_lr = 1e-6, min_lr = 1e-5, decay_rate = 0.1;
  bool warmup_prefix = false;
  std::optional<double> decay_epochs;
  std::vector<double> decay_milestones{90, 180, 270};

  // Regularisation.
  double smoothing = 0.1, mixup = 0, cutmix = 0, mixup_prob = 1, mixup_switch_prob = 0.5;
  std::int64_t mixup_off_epoch = 0;
  bool bce_loss = false, bce_sum = false, jsd_loss = false;
  std::optional<double> bce_target_thresh, bce_pos_weight;
  bool model_ema = false, model_ema_warmup = false;
  double model_ema_decay = 0.9998;

  // Distillation.
  Distillation distillation_type = Distillation::none;
  double distillation_alpha = 0.5, distillation_tau = 1;
  ops::KdReduction kd_reduction = ops::KdReduction::elements;
  std::string teacher, teacher_checkpoint, teacher_weights_key, teacher_logits;

  // The run.
  std::string output, config, resume, finetune, initial_checkpoint, weights_key, peg_load;
  std::int64_t seed = 42;
  std::string device = "cpu";
  bool allow_tf32 = false;
  DType precision = DType::f32;
  std::int64_t threads = 0;
  std::int64_t log_interval = 50, recovery_interval = 0, max_steps = 0;
  bool verbose = false, eval = false, use_ema = false, detect_anomaly = false;
  bool plan = false, auto_batch = false;
  std::int64_t profile = 0;
  bool skip_nonfinite = false, overfit_batch = false, save_images = false, report = true;
  std::optional<double> spike_zscore;
  std::int64_t max_skipped = 10, checkpoint_hist = 0;
  bool async_checkpoint = true;
};

/// Every setting of `config`, bound to it.
[[nodiscard]] Fields fields_of(TrainConfig& config);

/// The rate at the end of the warm-up: --lr, else lr-base scaled by the samples of a step.
[[nodiscard]] double peak_lr(const TrainConfig& config);

/// --freeze as its expressions. Throws UsageError on one that is none.
[[nodiscard]] std::vector<std::regex> frozen_patterns(const TrainConfig& config);

/// The settings of the model that differ from the registry's, as a JSON object.
[[nodiscard]] std::string model_overrides(const TrainConfig& config);

/// Throws UsageError where settings do not fit each other.
void check_config(const TrainConfig& config);

}  // namespace fovea
