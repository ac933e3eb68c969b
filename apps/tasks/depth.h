// `evaluate` and `predict` for depth models.
#pragma once

#include "apps/common/pictures.h"
#include "apps/tasks/evaluate_request.h"
#include "apps/tasks/predict_request.h"

namespace fovea {

/// Evaluates each checkpoint at each size by all protocols, beside constant predictions; prints the
/// table and writes the requested files.
void evaluate_depths(const EvaluateRequest& request);

/// Writes two files per picture to the folder --output: NAME-depth.png, 16-bit millimetres at the
/// model's size, and NAME-depth.svg: the picture as the model sees it, the depth in colours, and
/// their scale. Pictures of one name in several folders are numbered. Prints a line per picture;
/// broken ones and those without finite depths are reported on standard error. Returns the exit
/// code: 1 if any failed.
int predict_depths(const PredictRequest& request, LoadedModel& trained,
                   const PictureList& pictures);

}  // namespace fovea
