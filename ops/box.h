// Axis-aligned boxes, as corners (x0, y0, x1, y1) or as centre and size (cx, cy, w, h).
#pragma once

#include "engine/tensor.h"

namespace fovea::ops {

/// (cx, cy, w, h) -> (x0, y0, x1, y1) along the last axis: boxes [..., 4].
[[nodiscard]] Tensor box_corners(const Tensor& boxes);

/// The generalized intersection over union of each pair, a [N, 4] and b [N, 4] as corners -> [N]:
/// IoU - (hull - union) / hull, in [-1, 1], where the hull is the smallest box around both
/// (Rezatofighi et al. 2019). Computed in f32 or better, and of that dtype. NaN if both boxes are
/// empty.
[[nodiscard]] Tensor generalized_iou(const Tensor& a, const Tensor& b);

}  // namespace fovea::ops
