// What the scores of an epoch decide: which epoch was best, and whether the rate falls.
#pragma once

#include "optim/schedule.h"
#include "train/run/run_log.h"
#include "train/run/run_progress.h"
#include "train/run/task_info.h"

namespace fovea {

/// Notes the scores of an epoch in progress.best and .best_ema, and in .plateau those of the plain
/// weights.
void note_scores(const TaskInfo& task, const ScheduleOptions& schedule, const EpochRow& row,
                 Progress& progress);

}  // namespace fovea
