// The choice of a task, and its part of the settings.
#include "train/tasks.h"

#include <nlohmann/json.hpp>

#include "models/registry.h"
#include "settings/pipeline.h"
#include "train/classification.h"
#include "train/masked_autoencoding.h"
#include "train/run_options.h"

namespace fovea {

TaskKind task_kind(const std::string& model) {
  try {
    return preset(model).at("family") == "mae" ? TaskKind::masked_autoencoding
                                               : TaskKind::classification;
  } catch (const Error& error) {
    throw UsageError(error.what());
  }
}

TaskInfo task_info(const TrainConfig& config) {
  if (task_kind(config.model) == TaskKind::masked_autoencoding) return masked_autoencoding_info();
  return classification_info(config.distillation_type != Distillation::none);
}

std::unique_ptr<const Task> make_task(const TrainConfig& config, const ModelInfo& model,
                                      std::int64_t samples) {
  if (task_kind(config.model) == TaskKind::masked_autoencoding) {
    return std::make_unique<MaskedAutoencoding>(model, seed_of(config));
  }
  ClassificationOptions options;
  options.objective = objective_options(config);
  if (mixes(config)) options.mix = mix_options(config, model.num_classes);
  options.mix_epochs = config.mixup_off_epoch;
  options.seed = seed_of(config);
  return std::make_unique<Classification>(options, model, samples);
}

void check_task_settings(TaskKind kind, const TrainConfig& c) {
  if (kind == TaskKind::classification) return;
  const auto refuse = [](bool asked, const char* flag, const char* expected) {
    check_usage(!asked, flag, ": a masked autoencoder learns without labels; expected ", expected);
  };
  refuse(mixes(c), "--mixup, --cutmix", "--mixup 0 --cutmix 0 and no --cutmix-minmax");
  refuse(c.smoothing > 0, "--smoothing", "0");
  refuse(c.bce_loss, "--bce-loss", "--no-bce-loss");
  refuse(c.jsd_loss || c.aug_splits > 0, "--jsd-loss, --aug-splits", "none of them");
  refuse(c.distillation_type != Distillation::none, "--distillation-type", "none");
  refuse(c.linear_probe, "--linear-probe", "it with a classifier that reads the encoder");
  refuse(c.head_init_scale || c.head_init_bias, "--head-init-scale, --head-init-bias",
         "none of them");
  check_usage(c.train_img_sizes.empty(),
              "--train-img-sizes: the positions of a masked autoencoder have one size; expected "
              "none, or --img-size");
}

}  // namespace fovea
