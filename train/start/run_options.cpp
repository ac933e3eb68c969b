// Setting by setting.
#include "train/start/run_options.h"

#include <algorithm>

#include "base/text.h"
#include "settings/pipeline.h"

namespace fovea {

TrainerOptions trainer_options(const TrainConfig& config) {
  TrainerOptions options;
  options.step = step_options(config);
  options.grad_accum_steps = config.grad_accum_steps;
  options.schedule = schedule_options(config);
  options.cooldown_epochs = config.cooldown_epochs;
  options.images = training_images(config);
  options.sizes = training_sizes(config);
  options.evaluation = evaluate_options(config);
  options.log_interval = config.log_interval;
  options.recovery_interval = config.recovery_interval;
  options.max_steps = config.max_steps;
  options.overfit_batch = config.overfit_batch;
  TrainConfig copy = config;
  options.settings = to_json(fields_of(copy));
  return options;
}

StepOptions step_options(const TrainConfig& config) {
  StepOptions options;
  options.optimizer = optimizer_options(config);
  if (config.clip_grad) options.clip = ClipOptions{config.clip_mode, *config.clip_grad};
  if (config.model_ema) options.ema = EmaOptions{config.model_ema_decay, config.model_ema_warmup};
  options.guard = {config.skip_nonfinite, config.spike_zscore, config.max_skipped};
  options.activations = config.precision;
  options.recompute_blocks = config.grad_checkpointing;
  options.any_size = !config.train_img_sizes.empty();
  options.detect_anomaly = config.detect_anomaly;
  options.seed = seed_of(config);
  return options;
}

OptimizerOptions optimizer_options(const TrainConfig& config) {
  OptimizerOptions options = default_options(config.opt);
  options.weight_decay = config.weight_decay;
  if (!config.opt_betas.empty()) {
    options.beta1 = config.opt_betas.at(0);
    options.beta2 = config.opt_betas.at(1);
  }
  options.eps = config.opt_eps.value_or(options.eps);
  options.momentum = config.momentum;
  options.layer_decay = config.layer_decay;
  options.layer_decay_norm = config.layer_decay_norm;
  options.decay_dist_token = !config.no_decay_dist;
  return options;
}

ScheduleOptions schedule_options(const TrainConfig& config) {
  ScheduleOptions options;
  options.kind = config.sched;
  options.lr = peak_lr(config);
  options.min_lr = std::min(config.min_lr, options.lr);
  options.warmup_lr = std::min(config.warmup_lr, options.lr);
  options.epochs = static_cast<double>(config.epochs);
  options.warmup_epochs = config.warmup_epochs;
  options.warmup_prefix = config.warmup_prefix;
  // timm's: every 90 epochs, or over the last fifth.
  options.decay_epochs = config.decay_epochs.value_or(options.kind == ScheduleKind::wsd ? 0.2 : 90);
  options.decay_rate = config.decay_rate;
  options.milestones = config.decay_milestones;
  options.patience_epochs = config.patience_epochs;
  options.on_updates = config.sched_on_updates;
  options.lag = config.sched_lag;
  return options;
}

std::vector<std::string> schedule_notices(const TrainConfig& config) {
  std::vector<std::string> notices;
  const double peak = peak_lr(config);
  const auto below_peak = [&](const char* flag, double rate) {
    if (rate <= peak) return;
    notices.push_back(std::string(flag) + " " + shortest_text(rate) +
                      " is above the peak of the rate, " + shortest_text(peak) +
                      ", and is taken as that");
  };
  if (has_floor(config.sched)) below_peak("--min-lr", config.min_lr);
  if (config.warmup_epochs > 0) below_peak("--warmup-lr", config.warmup_lr);
  const auto epochs = static_cast<double>(config.epochs);
  if (!config.warmup_prefix && config.warmup_epochs >= epochs) {
    notices.push_back("--warmup-epochs " + shortest_text(config.warmup_epochs) +
                      " is the whole run of " + std::to_string(config.epochs) +
                      " epochs or more: the rate only rises");
  }
  return notices;
}

EvaluateOptions evaluate_options(const TrainConfig& config) {
  EvaluateOptions options;
  options.batch_size = config.val_batch_size > 0 ? config.val_batch_size : config.batch_size;
  options.workers = static_cast<int>(config.workers);
  options.normalization = normalization_of(config);
  options.crop = evaluation_crop(config);
  options.activations = config.precision;
  options.bad_image_limit = bad_image_limit(config);
  return options;
}

TrainingSizes training_sizes(const TrainConfig& config) {
  TrainingSizes sizes;
  for (const double side : config.train_img_sizes) {
    sizes.sides.push_back(static_cast<std::int64_t>(side));
  }
  sizes.schedule = config.train_size_schedule;
  sizes.epochs = config.epochs;
  sizes.seed = seed_of(config);
  return sizes;
}

InitialWeights initial_weights(const TrainConfig& config) {
  InitialWeights from;
  from.values = config.init;
  from.seed = seed_of(config);
  from.new_head = !config.finetune.empty();
  from.checkpoint = from.new_head ? config.finetune : config.initial_checkpoint;
  from.weights_key = config.weights_key;
  from.colors = normalization_of(config);
  from.pegs = config.peg_load;
  from.head_scale = config.head_init_scale;
  from.head_bias = config.head_init_bias;
  return from;
}

}  // namespace fovea
