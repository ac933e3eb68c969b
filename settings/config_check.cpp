// What follows from several settings together.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/names.h"
#include "base/text.h"
#include "engine/device.h"
#include "optim/schedule.h"
#include "settings/augmentation.h"
#include "settings/config.h"

namespace fovea {

double peak_lr(const TrainConfig& c) {
  const auto samples = static_cast<double>(c.batch_size * c.grad_accum_steps);
  const double ratio = samples / static_cast<double>(c.lr_base_size);
  return c.lr.value_or(c.lr_base * (c.lr_base_scale == RateScale::sqrt ? std::sqrt(ratio) : ratio));
}

std::string model_overrides(const TrainConfig& c) {
  nlohmann::json overrides = c.model_settings.overrides();
  const bool has_blocks = c.model != "linear";  // the recipes' drop path is no mistake there
  if (c.drop_path > 0 && has_blocks) overrides["drop_path"] = c.drop_path;
  return json_text(overrides);
}

std::vector<std::regex> frozen_patterns(const TrainConfig& c) {
  std::vector<std::regex> patterns;
  for (const std::string& word : words_of(c.freeze)) {
    try {
      patterns.emplace_back(word);
    } catch (const std::regex_error& error) {
      throw UsageError("--freeze: " + word + " is no regular expression: " + error.what());
    }
  }
  return patterns;
}

namespace {

void check_schedule(const TrainConfig& c) {
  const ScheduleKind kind = c.sched;
  const auto epochs = static_cast<double>(c.epochs);
  check_usage(c.cooldown_epochs == 0 || has_floor(kind), "--cooldown-epochs: --sched ",
              name_of(kind), " does not end at a floor to stay at");
  check_usage(std::is_sorted(c.decay_milestones.begin(), c.decay_milestones.end()),
              "--decay-milestones: expected rising numbers");
  check_usage(kind != ScheduleKind::plateau || c.decay_rate < 1, "--decay-rate: got ", c.decay_rate,
              ", expected less than 1 with --sched plateau");
  check_usage(kind != ScheduleKind::half_cosine || !c.warmup_prefix,
              "--warmup-prefix: the warm-up of --sched half-cosine is inside the epochs");
  if (kind != ScheduleKind::wsd) return;
  const double length = epochs - (c.warmup_prefix ? 0 : c.warmup_epochs);
  const double decay = c.decay_epochs.value_or(0.2);
  check_usage(length > 0 && decay <= length, "--decay-epochs: got ", decay,
              ", expected at most the ", length, " epochs after the warm-up of --sched wsd");
}

void check_losses(const TrainConfig& c) {
  const bool asks = c.bce_sum || c.bce_target_thresh || c.bce_pos_weight;
  check_usage(c.bce_loss || !asks,
              "--bce-sum, --bce-target-thresh and --bce-pos-weight need --bce-loss");
  check_usage(!c.jsd_loss || c.aug_splits > 1, "--jsd-loss compares splits: it needs --aug-splits");
  check_usage(!c.jsd_loss || !c.bce_loss, "--jsd-loss and --bce-loss: expected one of them");
  check_usage(c.teacher.empty() || !c.teacher_checkpoint.empty(), "--teacher ", c.teacher,
              " needs --teacher-checkpoint FILE, its weights");
  check_usage(c.teacher_weights_key.empty() || !c.teacher_checkpoint.empty(),
              "--teacher-weights-key ", c.teacher_weights_key, " needs --teacher-checkpoint FILE");
  if (c.distillation_type == Distillation::none) {
    check_usage(c.teacher_logits.empty() && c.teacher_checkpoint.empty(),
                "a teacher needs --distillation-type soft, hard or bce");
    return;
  }
  check_usage(c.teacher_checkpoint.empty() != c.teacher_logits.empty(), "--distillation-type ",
              name_of(c.distillation_type),
              " needs --teacher-checkpoint FILE or --teacher-logits FILE, one of them");
  check_usage(
      c.teacher_logits.empty() || !mixes(c),
      "--teacher-logits: got mixing too; expected --mixup 0 --cutmix 0 and no --cutmix-minmax: the "
      "stored logits are of single images");
}

void check_sizes(const TrainConfig& c) {
  const bool one_each = c.train_img_sizes.size() != 1;
  check_usage(one_each, "--train-img-sizes: expected two or more, or --img-size for one");
  for (const double side : c.train_img_sizes) {
    check_usage(side == std::floor(side), "--train-img-sizes: got ", side,
                ", expected whole numbers");
  }
}

}  // namespace

void check_config(const TrainConfig& c) {
  check_augmentation(c);
  check_schedule(c);
  check_losses(c);
  check_sizes(c);
  check_usage(c.clip_grad || c.clip_mode == ClipMode::norm, "--clip-mode ", name_of(c.clip_mode),
              " needs --clip-grad");
  check_usage(!c.model_ema_warmup || c.model_ema, "--model-ema-warmup needs --model-ema");
  check_usage(c.freeze.empty() || !c.linear_probe,
              "--freeze and --linear-probe: expected one of them");
  static_cast<void>(frozen_patterns(c));
  check_usage(c.finetune.empty() || c.initial_checkpoint.empty(),
              "--finetune and --initial-checkpoint: expected one of them");
  check_usage(c.weights_key.empty() || !c.finetune.empty() || !c.initial_checkpoint.empty(),
              "--weights-key ", c.weights_key,
              " needs --finetune FILE or --initial-checkpoint FILE");
  check_usage(!c.eval || !c.resume.empty() || !c.initial_checkpoint.empty(),
              "--eval needs weights: --resume STATE or --initial-checkpoint FILE");
  check_usage(!c.use_ema || c.eval, "--use-ema needs --eval");
  check_usage(c.resume != "auto" || !c.output.empty(), "--resume auto needs --output DIR");
  static_cast<void>(c.model_settings.overrides());
  try {
    static_cast<void>(parse_device(c.device));
  } catch (const Error& error) {
    throw UsageError(std::string("--device: ") + error.what());
  }
}

}  // namespace fovea
