// The part of `predict` for depth models.
#pragma once

#include <string>
#include <vector>

#include "apps/common/loading.h"
#include "apps/common/pictures.h"
#include "train/loop/evaluation_pass.h"

namespace fovea {

/// Writes two files per picture to `folder`: NAME-depth.png, 16-bit millimetres at the model's
/// size, and NAME-depth.svg: the picture as the model sees it, the depth in colours, and their
/// scale. Pictures of one name in several folders are numbered. Prints a line per picture; broken
/// ones and those without finite depths are reported on standard error. Returns the exit code: 1 if
/// any failed.
int predict_depths(const LoadedModel& trained, const PictureList& pictures,
                   const EvaluateOptions& options, const std::string& folder);

}  // namespace fovea
