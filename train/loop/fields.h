// Command line fields for the options of steps, the training loop and its evaluations.
#pragma once

#include "engine/base/fields.h"
#include "train/loop/trainer_options.h"

namespace fovea {

// Each function adds fields bound to its options, which must outlive the fields.
void add_fields(Fields& fields, StepOptions& options);
void add_fields(Fields& fields, LoopOptions& options);
void add_fields(Fields& fields, TrainingSizes& options);
void add_fields(Fields& fields, EvaluateOptions& options);

/// Adds --no-graph of programs that only evaluate, for EvaluateOptions::graph.
void add_graph_field(FieldGroup& group, bool* graph);

// These throw UsageError if options contradict each other.
void check_options(const StepOptions& options);
void check_options(const TrainingSizes& options);

/// Evaluation options for a run that trains with `batch_size`, which replaces an evaluation batch
/// size of 0.
[[nodiscard]] EvaluateOptions evaluation_in(const RunContext& run, EvaluateOptions options,
                                            std::int64_t batch_size);

}  // namespace fovea
