// The settings of optimizers and of learning rates.
#pragma once

#include "base/fields.h"
#include "optim/optimizer.h"
#include "optim/peak_rate.h"
#include "optim/schedule.h"

namespace fovea {

// Each binds the fields to the options, which must live as long as they are used.
void add_fields(Fields& fields, OptimizerOptions& options);
void add_fields(Fields& fields, PeakRate& options);
void add_fields(Fields& fields, ScheduleOptions& options);

/// Throws UsageError where options do not fit each other.
void check_options(const ScheduleOptions& options);

/// The schedule with that peak; a floor or a start above it becomes the peak.
[[nodiscard]] ScheduleOptions with_peak(ScheduleOptions options, double peak);

}  // namespace fovea
