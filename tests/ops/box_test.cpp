// Boxes: generalized IoU of known pairs, empty boxes, errors.
#include "ops/box.h"

#include <doctest/doctest.h>

#include <cmath>

#include "engine/tensor.h"
#include "tests/support/f64.h"

using namespace fovea;
using doctest::Approx;
using doctest::Contains;

namespace {

double giou(std::initializer_list<double> a, std::initializer_list<double> b) {
  return ops::generalized_iou(from_values({1, 4}, a, kF64), from_values({1, 4}, b, kF64)).item();
}

}  // namespace

TEST_CASE("corners of a box lie half its size from its centre") {
  const Tensor boxes = from_values({1, 2, 4}, {0.5, 0.25, 0.5, 0.125, 3, 4, 2, 6}, kF64);
  CHECK(ops::box_corners(boxes).to_vector() ==
        std::vector<double>{0.25, 0.1875, 0.75, 0.3125, 2, 1, 4, 7});
}

TEST_CASE("generalized IoU of known pairs") {
  CHECK(giou({1, 2, 4, 5}, {1, 2, 4, 5}) == Approx(1).epsilon(1e-15));
  // intersection 1, union 7, hull 9
  CHECK(giou({0, 0, 2, 2}, {1, 1, 3, 3}) == Approx(1 / 7.0 - 2 / 9.0).epsilon(1e-15));
  // intersection 0, union 2, hull 4: apart along one axis
  CHECK(giou({0, 0, 1, 1}, {3, 0, 4, 1}) == Approx(-0.5).epsilon(1e-15));
  // apart along both axes, where two negative sides must not make an intersection
  CHECK(giou({0, 0, 1, 1}, {2, 3, 4, 4}) == Approx(-(16 - 3) / 16.0).epsilon(1e-15));
  // one inside the other
  CHECK(giou({0, 0, 4, 4}, {1, 1, 2, 3}) == Approx(2 / 16.0).epsilon(1e-15));
}

TEST_CASE("generalized IoU is symmetric, and of an empty box no more than 0") {
  CHECK(giou({0, 0, 2, 5}, {1, 1, 3, 3}) == giou({1, 1, 3, 3}, {0, 0, 2, 5}));
  CHECK(giou({1, 1, 1, 1}, {0, 0, 2, 2}) == 0);
  CHECK(std::isnan(giou({1, 1, 1, 1}, {1, 1, 1, 1})));
}

TEST_CASE("generalized IoU refuses shapes that are no pairs of boxes") {
  CHECK_THROWS_WITH_AS((void)ops::generalized_iou(zeros({3, 4}), zeros({2, 4})),
                       Contains("expected equal shapes [N, 4]"), Error);
  CHECK_THROWS_WITH_AS((void)ops::generalized_iou(zeros({3, 2}), zeros({3, 2})),
                       Contains("expected [..., 4]"), Error);
}
