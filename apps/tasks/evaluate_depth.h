// The part of `evaluate` for depth models.
#pragma once

#include "apps/evaluate_request.h"

namespace fovea {

/// Evaluates each checkpoint at each size by all protocols; prints the table and writes the
/// requested files. Throws UsageError on flags that only classifiers have.
void evaluate_depths(const EvaluateRequest& request);

/// Throws UsageError if --protocol is set: the checkpoints are not depth models.
void require_no_protocol(const EvaluateRequest& request);

}  // namespace fovea
