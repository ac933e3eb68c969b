// How a run went, as charts.
#pragma once

#include <span>
#include <vector>

#include "figures/plot.h"
#include "train/run_log.h"

namespace fovea {

/// The loss and the accuracy charts of a run's log.
[[nodiscard]] std::vector<Chart> training_curves(std::span<const EpochRow> rows);

}  // namespace fovea
