// `evaluate` and `predict` for classifiers.
#pragma once

#include "apps/common/pictures.h"
#include "apps/tasks/evaluate_request.h"
#include "apps/tasks/predict_request.h"

namespace fovea {

/// Prints accuracy and calibration of each checkpoint at each size or, with --shape-bias, whether
/// shape or texture decides; writes the tables and figures of a single one next to its weights, or
/// of each to --output. Throws for models that do not classify, and names the program to use
/// instead.
void evaluate_classifiers(const EvaluateRequest& request);

/// Prints the most likely classes of each picture. Throws for models that do not classify and,
/// after everything is written, if a picture is broken. Returns the exit code.
int predict_classes(const PredictRequest& request, LoadedModel& trained,
                    const PictureList& pictures);

}  // namespace fovea
