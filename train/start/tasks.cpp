// The table of tasks, one row per task; TaskSettings implements the rest.
#include "train/start/tasks.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/base/program_call.h"
#include "models/registry.h"
#include "train/start/data_origin.h"
#include "train/tasks/autoencoding.h"
#include "train/tasks/classification.h"
#include "train/tasks/depth.h"
#include "train/tasks/detection.h"
#include "train/tasks/diffusion.h"
#include "train/tasks/masked_autoencoding.h"

namespace fovea {
namespace {

/// Names of a task's recipes.
struct RecipeNames {
  const char *drawn, *small, *photographs;
  const char* latents = photographs;  ///< most tasks do not train on latents
  const char* finetuning = "";
};

/// A call of a program and what it does: {"inspect", "mae shows its reconstructions"}.
struct Use {
  const char *program, *does;
};

struct TaskRow {
  TaskKind kind;
  std::unique_ptr<TaskSettings> (*settings)();
  const char* models;                 ///< noun for the models: "classifiers"
  std::vector<const char*> programs;  ///< which train them
  RecipeNames recipes;                ///< by kind of data set, and for fine-tuning
  std::vector<Use> other_uses{};      ///< of a model that has no answers about a picture
};

const TaskRow kTasks[] = {
    {.kind = TaskKind::classification,
     .settings = classification_settings,
     .models = "classifiers",
     .programs = {"train_cifar", "train_imagenet"},
     .recipes = {.drawn = "builtin",
                 .small = "cifar",
                 .photographs = "imagenet_deit_tiny",
                 .finetuning = "finetune"}},
    {.kind = TaskKind::masked_autoencoding,
     .settings = masked_autoencoding_settings,
     .models = "masked autoencoders",
     .programs = {"train_mae"},
     .recipes = {.drawn = "builtin_mae", .small = "cifar_mae", .photographs = "imagenet_mae_base"},
     .other_uses = {{"inspect", "mae shows its reconstructions"},
                    {"train_cifar", "--finetune makes it a classifier"}}},
    {.kind = TaskKind::diffusion,
     .settings = diffusion_settings,
     .models = "diffusion models",
     .programs = {"train_diffusion"},
     .recipes = {.drawn = "builtin_dit",
                 .small = "cifar_dit",
                 .photographs = "photographs_dit",
                 .latents = "latents_dit"},
     .other_uses = {{"sample", "draws its pictures"},
                    {"measure", "compares them with real ones"},
                    {"train_diffusion", "--resume RUN --eval prints its held-out loss"}}},
    {.kind = TaskKind::autoencoding,
     .settings = autoencoding_settings,
     .models = "image autoencoders",
     .programs = {"train_vae"},
     .recipes = {.drawn = "builtin_vae", .small = "cifar_vae", .photographs = "imagenet_vae_f8"},
     .other_uses = {{"encode", "makes its latents"},
                    {"train_vae", "--resume RUN --eval prints its held-out loss"}}},
    {.kind = TaskKind::depth,
     .settings = depth_settings,
     .models = "depth models",
     .programs = {"train_depth"},
     .recipes = {.drawn = "rooms_depth",
                 .small = "rooms_depth",
                 .photographs = "nyu_depth_pit_small"}},
    {.kind = TaskKind::detection,
     .settings = detection_settings,
     .models = "detectors",
     .programs = {"train_detection"},
     .recipes = {.drawn = "scenes",
                 .small = "deformable_detr_coco",
                 .photographs = "deformable_detr_coco",
                 .finetuning = "detection_finetune"}},
};

const TaskRow& row_of(TaskKind kind) {
  return *std::find_if(std::begin(kTasks), std::end(kTasks),
                       [&](const TaskRow& row) { return row.kind == kind; });
}

/// "./run train_mae trains", for a message.
std::string trained_by(const TaskRow& row) {
  std::string text;
  for (const char* const program : row.programs)
    text += (text.empty() ? "" : " and ") + program_call(program);
  return text + (row.programs.size() == 1 ? " trains" : " train");
}

/// Default settings of a task, for a message of task `asker`.
OtherSettings settings_of(const TaskRow& row, const TaskRow& asker) {
  const auto config = std::make_shared<TrainConfig>(config_for(row.kind));
  return {
      std::string("a setting for ") + row.models + "; " + trained_by(asker) + " " + asker.models,
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
  apply_settings(config, settings_in_json(fields_of(config), json, where, settings_of_others(task),
                                          OthersAre::ignored));
  find_data_folder(json, config);
  return config;
}

std::string_view recipe_of(std::string_view dataset, TaskKind task) {
  const RecipeNames& recipes = row_of(task).recipes;
  const DataKind kind = data_kind(dataset);
  if (kind == DataKind::drawn) return recipes.drawn;
  if (kind == DataKind::small) return recipes.small;
  return kind == DataKind::latents ? recipes.latents : recipes.photographs;
}

std::string other_uses(TaskKind task) {
  const std::vector<Use>& uses = row_of(task).other_uses;
  std::string text;
  for (const Use& use : uses) {
    text += text.empty() ? "" : &use == &uses.back() ? ", and " : ", ";
    text += program_call(use.program) + " " + use.does;
  }
  return text;
}

std::string_view finetuning_recipe(TaskKind task) { return row_of(task).recipes.finetuning; }

TaskInfo task_info(const TrainConfig& config) { return config.task->info(config); }

std::unique_ptr<const Task> make_task(const TrainConfig& config, Model& model,
                                      const Dataset* images) {
  return config.task->make(config, model, images);
}

void check_task(const std::string& model, TaskKind program) {
  const TaskRow& row = row_of(task_kind(model));
  check_usage(row.kind == program, "--model: ", model, " is ", noun_of(row.kind), "; ",
              trained_by(row), " it");
}

}  // namespace fovea
