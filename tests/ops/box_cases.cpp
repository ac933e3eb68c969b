// Rows of the gradient table for boxes.
#include "ops/box.h"

#include "tests/support/op_case.h"

namespace fovea::tests {
namespace {

using X = const std::vector<Tensor>&;

Tensor paired(X x) { return ops::generalized_iou(x[0], x[1]); }
/// From centres and sizes.
Tensor paired_by_size(X x) {
  return ops::generalized_iou(ops::box_corners(x[0]), ops::box_corners(x[1]));
}

}  // namespace

OpCases box_cases() {
  const In boxes{{3, 4}, {0.1, 0.2, 0.5, 0.9, 0.3, 0.1, 0.8, 0.45, 0.05, 0.6, 0.35, 0.95}};
  const In overlapping{{3, 4}, {0.3, 0.1, 0.7, 0.6, 0.35, 0.15, 0.6, 0.4, 0.15, 0.5, 0.75, 0.85}};
  const In apart{{3, 4}, {0.6, 0.1, 0.9, 0.3, 0.1, 0.6, 0.25, 0.8, 0.5, 0.05, 0.6, 0.25}};
  return {
      {"minimum", "generalized IoU, overlapping boxes", {boxes, overlapping}, paired},
      {"minimum", "generalized IoU, boxes apart", {boxes, apart}, paired},
      {"minimum",
       "generalized IoU, centres and sizes",
       {In{{5, 4}, 0.3, 0.6}, In{{5, 4}, 0.25, 0.7}},
       paired_by_size},
      {"cat", "corners of boxes", {{2, 3, 4}}, [](X x) { return ops::box_corners(x[0]); }},
      {"cat", "corners of no boxes", {{0, 4}}, [](X x) { return ops::box_corners(x[0]); }},
  };
}

}  // namespace fovea::tests
