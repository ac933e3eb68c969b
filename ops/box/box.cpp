// Box arithmetic, from the elementwise ops.
#include "ops/box.h"

#include <algorithm>
#include <cmath>

#include "ops/arithmetic.h"
#include "ops/common/checks.h"
#include "ops/view.h"

namespace fovea::ops {
namespace {

/// Half of the last axis.
Tensor first_two(const Tensor& boxes) { return slice(boxes, -1, 0, 2); }
Tensor last_two(const Tensor& boxes) { return slice(boxes, -1, 2, 4); }

/// The areas of boxes with corners low and high [N, 2], 0 where high is below low: [N].
Tensor areas(const Tensor& low, const Tensor& high) {
  const Tensor sides = clamp(high - low, 0, INFINITY);
  return select(sides, -1, 0) * select(sides, -1, 1);
}

void require_boxes(const char* op, const Tensor& boxes) {
  detail::require_float(op, boxes);
  check(boxes.rank() >= 1 && boxes.size(-1) == 4, op, ": got boxes of shape ", boxes.shape(),
        ", expected [..., 4]");
}

}  // namespace

Tensor box_corners(const Tensor& boxes) {
  require_boxes("box_corners", boxes);
  const Tensor centre = first_two(boxes), half = 0.5 * last_two(boxes);
  return cat({centre - half, centre + half}, -1);
}

Tensor generalized_iou(const Tensor& a, const Tensor& b) {
  require_boxes("generalized_iou", a);
  require_boxes("generalized_iou", b);
  check(a.rank() == 2 && a.shape() == b.shape(), "generalized_iou: got boxes ", a.shape(), " and ",
        b.shape(), ", expected equal shapes [N, 4]");
  const DType wide = std::min(acc_dtype(a.dtype()), acc_dtype(b.dtype()));  // enum order: f64, f32
  const Tensor low_a = first_two(a.to(wide)), high_a = last_two(a.to(wide));
  const Tensor low_b = first_two(b.to(wide)), high_b = last_two(b.to(wide));
  const Tensor overlap = areas(maximum(low_a, low_b), minimum(high_a, high_b));
  const Tensor both = areas(low_a, high_a) + areas(low_b, high_b) - overlap;
  const Tensor hull = areas(minimum(low_a, low_b), maximum(high_a, high_b));
  return overlap / both - (hull - both) / hull;
}

}  // namespace fovea::ops
