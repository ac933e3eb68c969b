// The tasks that there are. A model is for one of them: its entry in the registry says for which.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "models/model.h"
#include "settings/config.h"
#include "train/loop/task.h"

namespace fovea {

/// Of a model by its registry name, see task_of(). Throws UsageError on an unknown one.
[[nodiscard]] TaskKind task_kind(const std::string& model);

/// What a run of these settings logs.
[[nodiscard]] TaskInfo task_info(const TrainConfig& config);

/// What `model` is trained for, on a split of so many `samples`. The model must outlive the task.
[[nodiscard]] std::unique_ptr<const Task> make_task(const TrainConfig& config, Model& model,
                                                    std::int64_t samples);

/// Throws UsageError where the model is of another task than the program's, and on settings that
/// this task has no use for.
void check_task(const TrainConfig& config, TaskKind program);

}  // namespace fovea
