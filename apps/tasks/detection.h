// `evaluate` and `predict` for detectors.
#pragma once

#include "apps/common/pictures.h"
#include "apps/tasks/evaluate_request.h"
#include "apps/tasks/predict_request.h"

namespace fovea {

/// Prints COCO's numbers of each checkpoint and, for a single one, per class; writes the files of
/// write_precision() and the detections as COCO results, next to the weights or to --output.
void evaluate_detectors(const EvaluateRequest& request);

/// Prints the objects in each picture and draws their boxes, see find_in_pictures(). Throws, after
/// everything is written, if a picture is broken. Returns the exit code.
int predict_objects(const PredictRequest& request, LoadedModel& trained,
                    const PictureList& pictures);

}  // namespace fovea
