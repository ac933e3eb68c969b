// The registry of tasks. Each model belongs to one task, as recorded in the model registry.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "models/model.h"
#include "train/loop/task.h"
#include "train/settings/config.h"

namespace fovea {

/// Task of a model by its registry name, see task_of(). Throws UsageError on an unknown name.
[[nodiscard]] TaskKind task_kind(const std::string& model);

/// Default configuration of a task, for fields_of().
[[nodiscard]] TrainConfig config_for(TaskKind task);

/// The settings that only other tasks have.
[[nodiscard]] std::vector<OtherSettings> settings_of_others(TaskKind task);

/// Parses the settings of a run saved by any program, from JSON read at `where`. Throws UsageError.
[[nodiscard]] TrainConfig saved_config(std::string_view json, const std::string& where);

/// What to do with a model that has no answers about a picture, for a message: "./run sample draws
/// its pictures"; "" for the other tasks.
[[nodiscard]] std::string other_uses(TaskKind task);

/// Name of the recipe of a task on a data set, by the set's data_kind(). Throws on an unknown one.
[[nodiscard]] std::string_view recipe_of(std::string_view dataset, TaskKind task);
/// Name of the recipe for fine-tuning published weights; "" if the task has none.
[[nodiscard]] std::string_view finetuning_recipe(TaskKind task);

/// Description of the values that a run with these settings logs.
[[nodiscard]] TaskInfo task_info(const TrainConfig& config);

/// Makes the task of `model` on `images`; without images it serves only for inspection. Both must
/// outlive the task.
[[nodiscard]] std::unique_ptr<const Task> make_task(const TrainConfig& config, Model& model,
                                                    const Dataset* images = nullptr);

/// Throws UsageError if the model is of another task than the program's.
void check_task(const std::string& model, TaskKind program);

}  // namespace fovea
