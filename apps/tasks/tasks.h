// What `evaluate` and `predict` do with the models of each task: one row per task.
#pragma once

#include <string_view>
#include <vector>

#include "apps/common/pictures.h"
#include "apps/tasks/evaluate_request.h"
#include "apps/tasks/predict_request.h"
#include "engine/base/fields.h"
#include "models/task_kind.h"

namespace fovea {

struct TaskCommands {
  using Flags = std::vector<std::string_view>;

  TaskKind task;
  std::string_view models;       ///< "classifiers", for messages
  Flags evaluate_flags{};        ///< flags of `evaluate` that are for models of this task alone
  Flags predict_flags{};         ///< the same for `predict`
  bool predicts_folder = false;  ///< --output of `predict` is a folder
  void (*evaluate)(const EvaluateRequest& request);
  /// Returns the exit code.
  int (*predict)(const PredictRequest& request, LoadedModel& trained, const PictureList& pictures);
};

/// The row of a task. The row of classification is also that of the tasks that have none: its
/// functions say what their models lack.
[[nodiscard]] const TaskCommands& commands_of(TaskKind task);

/// Throws UsageError if a flag is set that applies only to models of another task. `flags` selects
/// the program.
void refuse_flags_of_others(TaskKind task, const Fields& fields,
                            TaskCommands::Flags TaskCommands::*flags);

}  // namespace fovea
