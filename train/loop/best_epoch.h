// Bookkeeping after an evaluation: the best epoch so far, and the plateau schedule.
#pragma once

#include "train/optim/schedule.h"
#include "train/run/run_log.h"
#include "train/run/run_progress.h"
#include "train/run/task_info.h"

namespace fovea {

/// Updates progress.best and .best_ema with an epoch's scores, and .plateau with the scores of the
/// plain weights. An epoch without a score, not evaluated or NaN, changes nothing.
void note_scores(const TaskInfo& task, const ScheduleOptions& schedule, const EpochRow& row,
                 Progress& progress);

}  // namespace fovea
