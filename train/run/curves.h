// How a run went, as charts.
#pragma once

#include <span>
#include <vector>

#include "figures/plot.h"
#include "train/run/run_log.h"

namespace fovea {

/// Charts of a run's log: one of the loss with what an evaluation measures in its unit, and one for
/// each Measure::chart.
[[nodiscard]] std::vector<Chart> training_curves(const TaskInfo& task,
                                                 std::span<const EpochRow> rows);

}  // namespace fovea
