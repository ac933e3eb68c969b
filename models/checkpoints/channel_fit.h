// Loading a patch embedding into a model with another number of image channels.
#pragma once

#include "models/checkpoints/grid_fit.h"

namespace fovea {

/// Fits the weight [D, 3, P, P] of a patch embedding for RGB to a model of other channels, as timm
/// does: the sum over the three for a gray image; for another count C the three in turn, times
/// 3 / C, so that an image of equal channels gives the same tokens. Without values if the file's
/// weight is not of that kind.
[[nodiscard]] Fitted fit_channels(const Parameter& p, const Tensor& file);

}  // namespace fovea
