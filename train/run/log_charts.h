// Charts of a run's progress.
#pragma once

#include <span>
#include <vector>

#include "data/figures/plot.h"
#include "train/run/run_log.h"

namespace fovea {

/// Of the charts in a picture, which would otherwise be too small to read.
inline constexpr std::size_t kChartsInRow = 2;

/// Charts of a run's log: one of the losses, and one per Measure::chart. A part of the loss is in
/// the chart of the measure with its name, if there is one.
[[nodiscard]] std::vector<Chart> log_charts(const TaskInfo& task, std::span<const EpochRow> rows);

}  // namespace fovea
