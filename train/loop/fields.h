// The settings of steps, of the loop and of the evaluations in it.
#pragma once

#include "base/fields.h"
#include "train/loop/trainer.h"

namespace fovea {

// Each binds the fields to the options, which must live as long as they are used.
void add_fields(Fields& fields, StepOptions& options);
void add_fields(Fields& fields, LoopOptions& options);
void add_fields(Fields& fields, TrainingSizes& options);
void add_fields(Fields& fields, EvaluateOptions& options);

// These throw UsageError where options do not fit each other.
void check_options(const StepOptions& options);
void check_options(const TrainingSizes& options);

/// An evaluation in a run that trains with batches of `batch_size`: its own size where that is 0.
[[nodiscard]] EvaluateOptions evaluation_in(const RunContext& run, EvaluateOptions options,
                                            std::int64_t batch_size);

}  // namespace fovea
