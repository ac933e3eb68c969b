// `evaluate` for detectors.
#pragma once

#include "apps/evaluate_request.h"

namespace fovea {

/// Prints COCO's numbers of each checkpoint and, for a single one, per class; writes the files of
/// write_precision() and the detections as COCO results, next to the weights or to --output.
/// Throws UsageError for settings that only classifiers have.
void evaluate_detectors(const EvaluateRequest& request);

}  // namespace fovea
