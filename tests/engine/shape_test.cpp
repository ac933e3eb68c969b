// Shapes, strides and broadcasting.
#include "engine/shape.h"

#include <doctest/doctest.h>

#include "engine/base/error.h"
#include "engine/strided.h"

using namespace fovea;

TEST_CASE("numel counts elements, is 0 for an empty axis and 1 for a scalar") {
  CHECK(Shape{2, 3, 5}.numel() == 30);
  CHECK(Shape{2, 0, 5}.numel() == 0);
  CHECK(Shape{}.numel() == 1);
}

TEST_CASE("a shape that 64 bits cannot count is an error, unless it is empty") {
  const std::int64_t huge = std::int64_t{1} << 40;
  CHECK_THROWS_AS((void)(Shape{huge, huge}).numel(), Error);
  CHECK(Shape{huge, huge, 0}.numel() == 0);
  CHECK_THROWS_AS((void)(Shape{-1}).numel(), Error);
}

TEST_CASE("seven axes are one too many") {
  CHECK_THROWS_WITH_AS((Shape{1, 1, 1, 1, 1, 1, 1}), "shape: got 7 axes, expected at most 6",
                       Error);
}

TEST_CASE("broadcast aligns at the last axis") {
  CHECK(broadcast("t", {2, 1, 5}, {3, 1}) == Shape{2, 3, 5});
  CHECK(broadcast("t", {}, {3, 1}) == Shape{3, 1});
  CHECK(broadcast("t", {0, 1}, {1, 4}) == Shape{0, 4});
  CHECK_THROWS_WITH_AS((void)broadcast("add", {2, 3}, {2, 4}),
                       "add: shapes [2, 3] and [2, 4] do not broadcast: sizes 3 and 4 differ, "
                       "expected equal sizes or 1",
                       Error);
}

TEST_CASE("broadcast strides repeat with 0") {
  CHECK(broadcast_strides({3, 1}, {1, 1}, {2, 3, 5}) == Strides{0, 1, 0});
}

TEST_CASE("the axes of a contiguous tensor merge into one, permuted ones stay apart") {
  const StridedAxes<1> whole = merged_axes<1>({2, 1, 3, 5}, {Strides{15, 7, 5, 1}});
  CHECK(whole.count == 30);
  CHECK(whole.rank == 1);
  CHECK(whole.shape[0] == 30);
  CHECK(whole.strides[0][0] == 1);
  const StridedAxes<2> permuted = merged_axes<2>({2, 3, 5}, {Strides{15, 5, 1}, Strides{1, 10, 2}});
  CHECK(permuted.rank == 2);
  CHECK(Shape(std::span(permuted.shape).first(2)) == Shape{2, 15});
  CHECK(Shape(std::span(permuted.strides[0]).first(2)) == Strides{15, 1});
  CHECK(Shape(std::span(permuted.strides[1]).first(2)) == Strides{1, 2});
}

TEST_CASE("a scalar has one axis of one element, an empty tensor counts none") {
  const StridedAxes<1> scalar = merged_axes<1>({}, {Strides{}});
  CHECK(scalar.rank == 1);
  CHECK(scalar.shape[0] == 1);
  CHECK(scalar.count == 1);
  CHECK(merged_axes<1>({2, 0}, {Strides{1, 1}}).count == 0);
}
