// The table of tasks, one row per task; TaskSettings implements the rest.
#include "train/start/tasks.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "models/registry.h"
#include "train/tasks/autoencoding.h"
#include "train/tasks/classification.h"
#include "train/tasks/depth.h"
#include "train/tasks/detection.h"
#include "train/tasks/diffusion.h"
#include "train/tasks/masked_autoencoding.h"

namespace fovea {
namespace {

struct TaskRow {
  TaskKind kind;
  std::unique_ptr<TaskSettings> (*settings)();
  const char* models;    ///< noun for the models: "classifiers"
  const char* programs;  ///< programs that train them: "./run train_mae trains"
  /// Names of the recipes.
  const char *builtin, *small_images, *photographs, *latents, *finetuning;
};

const std::array kTasks{
    TaskRow{TaskKind::classification,
            []() -> std::unique_ptr<TaskSettings> {
              return std::make_unique<ClassificationSettings>();
            },
            "classifiers", "./run train_cifar and ./run train_imagenet train", "builtin", "cifar",
            "imagenet_deit_tiny", "imagenet_deit_tiny", "finetune"},
    TaskRow{TaskKind::masked_autoencoding, masked_autoencoding_settings, "masked autoencoders",
            "./run train_mae trains", "builtin_mae", "cifar_mae", "imagenet_mae_base",
            "imagenet_mae_base", ""},
    TaskRow{TaskKind::diffusion,
            []() -> std::unique_ptr<TaskSettings> { return std::make_unique<DiffusionSettings>(); },
            "diffusion models", "./run train_diffusion trains", "builtin_dit", "cifar_dit",
            "photographs_dit", "latents_dit", ""},
    TaskRow{TaskKind::autoencoding, autoencoding_settings, "image autoencoders",
            "./run train_vae trains", "builtin_vae", "cifar_vae", "imagenet_vae_f8",
            "imagenet_vae_f8", ""},
    TaskRow{TaskKind::depth, depth_settings, "depth models", "./run train_depth trains",
            "rooms_depth", "rooms_depth", "nyu_depth_pit_small", "nyu_depth_pit_small", ""},
    TaskRow{TaskKind::detection,
            []() -> std::unique_ptr<TaskSettings> { return std::make_unique<DetectionSettings>(); },
            "detectors", "./run train_detection trains", "scenes", "deformable_detr_coco",
            "deformable_detr_coco", "deformable_detr_coco", ""},
};

const TaskRow& row_of(TaskKind kind) {
  return *std::find_if(kTasks.begin(), kTasks.end(),
                       [&](const TaskRow& row) { return row.kind == kind; });
}

/// Default settings of a task, for a message of task `asker`.
OtherSettings settings_of(const TaskRow& row, const TaskRow& asker) {
  const auto config = std::make_shared<TrainConfig>(config_for(row.kind));
  return {std::string("a setting for ") + row.models + "; " + asker.programs + " " + asker.models,
          config, fields_of(*config)};
}

}  // namespace

TaskKind task_kind(const std::string& model) {
  try {
    return task_of(model);
  } catch (const Error& error) {
    throw UsageError(error.what());
  }
}

TrainConfig config_for(TaskKind task) {
  TrainConfig config;
  config.task = AnyTaskSettings(row_of(task).settings());
  return config;
}

std::vector<OtherSettings> settings_of_others(TaskKind task) {
  TrainConfig own = config_for(task);
  const Fields fields = fields_of(own);
  const auto is_own = [&](const Field& other) {
    return std::any_of(fields.begin(), fields.end(),
                       [&](const Field& field) { return field.name == other.name; });
  };
  std::vector<OtherSettings> others;
  for (const TaskRow& row : kTasks) {
    if (row.kind == task) continue;
    others.push_back(settings_of(row, row_of(task)));
    std::erase_if(others.back().fields, is_own);
  }
  return others;
}

TrainConfig saved_config(std::string_view json, const std::string& where) {
  TrainConfig any = config_for(TaskKind::classification);
  const std::string model = text_in_json(find_field(fields_of(any), "model", where), json, where);
  const TaskKind task = model.empty() ? TaskKind::classification : task_kind(model);
  TrainConfig config = config_for(task);
  config.task->precede_settings();
  apply_saved_json(fields_of(config), json, where, settings_of_others(task));
  return config;
}

std::string_view recipe_of(std::string_view dataset, TaskKind task) {
  const TaskRow& row = row_of(task);
  if (dataset == "builtin" || dataset == "scenes" || dataset == "rooms") return row.builtin;
  if (dataset == "latents") return row.latents;
  const bool is_small = dataset.starts_with("cifar") || dataset == "flowers102";
  return is_small ? row.small_images : row.photographs;
}

std::string_view finetuning_recipe(TaskKind task) { return row_of(task).finetuning; }

TaskInfo task_info(const TrainConfig& config) { return config.task->info(config); }

std::unique_ptr<const Task> make_task(const TrainConfig& config, Model& model,
                                      const Dataset* images) {
  return config.task->make(config, model, images);
}

void check_task(const std::string& model, TaskKind program) {
  const TaskRow& row = row_of(task_kind(model));
  check_usage(row.kind == program, "--model: ", model, " is ", noun_of(row.kind), "; ",
              row.programs, " it");
}

}  // namespace fovea
