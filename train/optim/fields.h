// Command line fields for the options of optimizers, schedules and learning rates.
#pragma once

#include "engine/base/fields.h"
#include "train/optim/optimizer.h"
#include "train/optim/peak_rate.h"
#include "train/optim/schedule.h"

namespace fovea {

// Each function adds fields bound to `options`, which must outlive the fields.
void add_fields(Fields& fields, OptimizerOptions& options);
void add_fields(Fields& fields, PeakRate& options);
void add_fields(Fields& fields, ScheduleOptions& options);

/// For a switch that turns `value` off.
[[nodiscard]] Access<bool> opposite(bool* value);

/// Throws UsageError if options contradict each other.
void check_options(const ScheduleOptions& options);

/// The schedule for this peak rate; a floor or start above the peak is lowered to it.
[[nodiscard]] ScheduleOptions with_peak(ScheduleOptions options, double peak);

}  // namespace fovea
