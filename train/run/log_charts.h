// Charts of a run's progress.
#pragma once

#include <span>
#include <vector>

#include "data/figures/plot.h"
#include "train/run/run_log.h"

namespace fovea {

/// Charts of a run's log: one of the losses, and one per Measure::chart.
[[nodiscard]] std::vector<Chart> log_charts(const TaskInfo& task, std::span<const EpochRow> rows);

}  // namespace fovea
