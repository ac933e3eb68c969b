// A row a task, and each one's part of the settings.
#include "train/start/tasks.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "models/registry.h"
#include "settings/pipeline.h"
#include "train/start/classification_options.h"
#include "train/start/finetune_command.h"
#include "train/tasks/masked_autoencoding.h"

namespace fovea {
namespace {

TaskInfo masked_info(const TrainConfig& config) {
  TaskInfo info = masked_autoencoding_info();
  info.next_steps += "  " + finetune_command(config) + "\n";
  return info;
}

void check_masked(const TrainConfig& c) {
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
  check_usage(c.init == InitialValues::timm,
              "--init: a masked autoencoder has initial values of its own; expected timm");
  check_usage(c.train_img_sizes.empty(),
              "--train-img-sizes: the positions of a masked autoencoder have one size; expected "
              "none, or --img-size");
}

struct TaskRow {
  TaskKind kind;
  const char* programs;  ///< who trains it
  TaskInfo (*info)(const TrainConfig& config);
  void (*check)(const TrainConfig& config);
  std::unique_ptr<const Task> (*make)(const TrainConfig& config, Model& model,
                                      std::int64_t samples);
};

const std::array kTasks{
    TaskRow{TaskKind::classification, "./run train_cifar and ./run train_imagenet train it",
            [](const TrainConfig& c) { return classification_info(classification_options(c, 1)); },
            [](const TrainConfig&) {},
            [](const TrainConfig& c, Model& model,
               std::int64_t samples) -> std::unique_ptr<const Task> {
              return std::make_unique<Classification>(
                  classification_options(c, model.info().num_classes), model, samples);
            }},
    TaskRow{TaskKind::masked_autoencoding, "./run train_mae trains it", masked_info, check_masked,
            [](const TrainConfig& c, Model& model, std::int64_t) -> std::unique_ptr<const Task> {
              return std::make_unique<MaskedAutoencoding>(masked_info(c), model, seed_of(c));
            }}};

const TaskRow& row_of(TaskKind kind) {
  return *std::find_if(kTasks.begin(), kTasks.end(),
                       [&](const TaskRow& row) { return row.kind == kind; });
}

const TaskRow& row_of(const TrainConfig& config) { return row_of(task_kind(config.model)); }

}  // namespace

TaskKind task_kind(const std::string& model) {
  try {
    return task_of(model);
  } catch (const Error& error) {
    throw UsageError(error.what());
  }
}

TaskInfo task_info(const TrainConfig& config) { return row_of(config).info(config); }

std::unique_ptr<const Task> make_task(const TrainConfig& config, Model& model,
                                      std::int64_t samples) {
  return row_of(config).make(config, model, samples);
}

void check_task(const TrainConfig& config, TaskKind program) {
  const TaskRow& row = row_of(config);
  check_usage(row.kind == program, "--model: ", config.model, " is ", noun_of(row.kind), "; ",
              row.programs);
  row.check(config);
}

}  // namespace fovea
