// The tasks that there are. A model is for one of them: its entry in the registry says for which.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "models/model.h"
#include "settings/config.h"
#include "train/loop/task.h"

namespace fovea {

/// Of a model by its registry name, see task_of(). Throws UsageError on an unknown one.
[[nodiscard]] TaskKind task_kind(const std::string& model);

/// A run of that task before anything is said, for fields_of().
[[nodiscard]] TrainConfig config_for(TaskKind task);

/// The settings that other tasks have and this one has not.
[[nodiscard]] std::vector<OtherSettings> settings_of_others(TaskKind task);

/// The settings of a run that has been saved, by any program: as JSON, which was read at `where`.
/// Throws UsageError.
[[nodiscard]] TrainConfig saved_config(std::string_view json, const std::string& where);

/// The recipe of a task on a data set, as JSON. CIFAR-10 and CIFAR-100 share one, and photographs
/// have one whether they lie in folders, tar files or packs.
[[nodiscard]] std::string_view recipe_of(std::string_view dataset, TaskKind task);

/// What a run of these settings logs.
[[nodiscard]] TaskInfo task_info(const TrainConfig& config);

/// What `model` is trained for, on `images`, or without any to be looked at. The model must outlive
/// the task.
[[nodiscard]] std::unique_ptr<const Task> make_task(const TrainConfig& config, Model& model,
                                                    const Dataset* images = nullptr);

/// Throws UsageError where the model is of another task than the program's.
void check_task(const std::string& model, TaskKind program);

}  // namespace fovea
