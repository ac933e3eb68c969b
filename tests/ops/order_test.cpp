// Order statistics: NaN and ties, every length, empty axes, error messages.
#include "ops/order.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/autograd.h"
#include "tests/support/f64.h"
#include "tests/support/special_values.h"
#include "tests/support/values.h"

using namespace fovea;
using doctest::Contains;

namespace {

/// What a stable sort says; NaN counts as the largest value.
Values sorted_positions(const Values& x, bool descending) {
  const auto rank = [](double v) { return std::isnan(v) ? INFINITY : v; };
  Values positions(x.size());
  std::iota(positions.begin(), positions.end(), 0);
  std::stable_sort(positions.begin(), positions.end(), [&](double a, double b) {
    const double u = rank(x[static_cast<std::size_t>(a)]), v = rank(x[static_cast<std::size_t>(b)]);
    return descending ? u > v : u < v;
  });
  return positions;
}

}  // namespace

TEST_CASE("an extreme of an empty axis is an error") {
  const Tensor x = zeros({2, 0});
  CHECK_THROWS_WITH_AS((void)ops::max(x, 1),
                       "max: axis 1 of shape [2, 0] is empty, expected at least one element",
                       Error);
  CHECK_THROWS_WITH_AS((void)ops::argmax(x, 1), Contains("argmax: axis 1"), Error);
  CHECK(ops::max(zeros({0, 3}), 1).shape() == Shape{0});
}

TEST_CASE("maxima: first of equals, NaN wins") {
  const Tensor x = from_values({3, 3}, {1, 5, 5, kNan, 2, kNan, -1, -3, -3});
  CHECK(ops::argmax(x, 1).to_vector() == Values{1, 0, 0});
  const Tensor largest = ops::max(x, 1), smallest = ops::min(x, 1);
  CHECK(largest.at(0) == 5);
  CHECK(std::isnan(largest.at(1)));
  CHECK(std::isnan(smallest.at(1)));
  CHECK(smallest.at(2) == -3);
}

TEST_CASE("the gradient of an extreme goes to its first element only") {
  const Tensor x = from_values({4}, {1, 7, 7, 0}, kF64);
  x.set_requires_grad();
  backward(ops::max(x, 0));
  CHECK(x.grad().to_vector() == Values{0, 1, 0, 0});
}

TEST_CASE("sorting is stable and puts NaN last when rising, first when falling") {
  const Tensor x = from_values({6}, {3, 1, kNan, 3, 1, 2});
  CHECK(ops::argsort(x).to_vector() == Values{1, 4, 5, 0, 3, 2});
  CHECK(ops::argsort(x, 0, true).to_vector() == Values{2, 0, 3, 5, 1, 4});
  const auto [values, positions] = ops::topk(x, 3);
  CHECK(positions.to_vector() == Values{2, 0, 3});
  CHECK(values.at(1) == 3);
}

TEST_CASE("order statistics work along any axis, and on integers") {
  const Tensor x = from_values({3, 2}, {5, 1, 4, 9, 6, 2}, {DType::i64, {}});
  CHECK(ops::max(x, 0).to_vector() == Values{6, 9});
  CHECK(ops::argmax(x, 0).to_vector() == Values{2, 1});
  CHECK(ops::sort(x, 0).first.to_vector() == Values{4, 1, 5, 2, 6, 9});
  const auto [values, positions] = ops::topk(x, 2, 0);
  CHECK(values.shape() == Shape{2, 2});
  CHECK(values.to_vector() == Values{6, 9, 5, 2});
  CHECK(positions.to_vector() == Values{2, 1, 0, 2});
}

TEST_CASE("topk and sort agree with a stable sort for every length and k") {
  for (std::int64_t n = 0; n < 40; ++n) {
    Values values(static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < n; ++i) {  // many ties, some NaN and zeros of both signs
      const std::int64_t v = i * i * 7 % 11 - 4;
      values[static_cast<std::size_t>(i)] = v == 3 ? kNan : v == 0 && i % 2 ? -0.0 : double(v);
    }
    const Tensor x = from_values({n}, values);
    CHECK(ops::argsort(x).to_vector() == sorted_positions(values, false));
    const Values falling = sorted_positions(values, true);
    CHECK(ops::argsort(x, 0, true).to_vector() == falling);
    for (std::int64_t k = 0; k <= n; ++k) {
      CHECK(ops::topk(x, k).second.to_vector() == Values(falling.begin(), falling.begin() + k));
    }
  }
}

TEST_CASE("errors of order statistics") {
  const Tensor x = zeros({2, 3});
  CHECK_THROWS_WITH_AS((void)ops::topk(x, 4),
                       "topk: got k = 4 for axis 1 of shape [2, 3], expected 0 to 3", Error);
  CHECK_THROWS_WITH_AS((void)ops::sort(x, 2), Contains("sort: axis 2 is out of range"), Error);
}
