// The table of tasks for `evaluate` and `predict`.
#include "apps/tasks/tasks.h"

#include <algorithm>
#include <array>

#include "apps/tasks/classification.h"
#include "apps/tasks/depth.h"
#include "apps/tasks/detection.h"

namespace fovea {
namespace {

const auto kCommands = std::to_array<TaskCommands>({
    {.task = TaskKind::classification,
     .models = "classifiers",
     .evaluate_flags = {"logits", "class-map", "shape-bias"},
     .evaluate = evaluate_classifiers,
     .predict = predict_classes},
    {.task = TaskKind::detection,
     .models = "detectors",
     .predict_flags = {"threshold", "pictures", "json", "annotations"},
     .evaluate = evaluate_detectors,
     .predict = predict_objects},
    {.task = TaskKind::depth,
     .models = "depth models",
     .evaluate_flags = {"protocol"},
     .predict_flags = {"depth-size"},
     .predicts_folder = true,
     .evaluate = evaluate_depths,
     .predict = predict_depths},
});

}  // namespace

const TaskCommands& commands_of(TaskKind task) {
  const auto* const row = std::find_if(kCommands.begin(), kCommands.end(),
                                       [&](const TaskCommands& c) { return c.task == task; });
  return row != kCommands.end() ? *row : kCommands.front();
}

void refuse_flags_of_others(TaskKind task, const Fields& fields,
                            TaskCommands::Flags TaskCommands::*flags) {
  for (const TaskCommands& other : kCommands) {
    if (other.task == task) continue;
    for (const std::string_view flag : other.*flags) {
      const Field& field = find_field(fields, flag, "");
      const std::string text = field_text(field);
      const std::string_view unset = field.holds<std::optional<double>>() ? "none" : "";
      check_usage(text == unset, "--", flag, ": got ", text, ", but it is for ", other.models,
                  ", and the checkpoint is ", noun_of(task));
    }
  }
}

}  // namespace fovea
