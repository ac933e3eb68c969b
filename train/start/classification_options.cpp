// Setting by setting.
#include "train/start/classification_options.h"

#include "settings/pipeline.h"
#include "train/start/run_options.h"

namespace fovea {

ObjectiveOptions objective_options(const TrainConfig& config) {
  ObjectiveOptions options;
  options.smoothing = config.smoothing;
  if (config.bce_loss) {
    options.bce = BceOptions{config.smoothing, config.bce_target_thresh, config.bce_pos_weight,
                             config.bce_sum};
  }
  if (config.jsd_loss) options.jsd = JsdOptions{config.aug_splits, config.smoothing};
  options.distillation = config.distillation_type;
  options.alpha = config.distillation_alpha;
  options.tau = config.distillation_tau;
  options.kd_reduction = config.kd_reduction;
  options.teacher = {config.teacher_checkpoint,  config.teacher_weights_key, config.teacher,
                     config.teacher_logits,      training_sizes(config),     config.precision,
                     parse_device(config.device)};
  return options;
}

ClassificationOptions classification_options(const TrainConfig& config, std::int64_t classes) {
  ClassificationOptions options;
  options.objective = objective_options(config);
  if (mixes(config)) options.mix = mix_options(config, classes);
  options.mix_epochs = config.mixup_off_epoch;
  options.seed = seed_of(config);
  return options;
}

}  // namespace fovea
