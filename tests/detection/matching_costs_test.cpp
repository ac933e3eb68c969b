// The terms of the matching cost by hand.
#include "models/detection/matching_costs.h"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/support/f64.h"

namespace fovea {
namespace {

using doctest::Approx;

/// Two queries with three logits.
Predictions two_queries() {
  return {from_values({2, 3}, {0.5, -1, 2, 0, 0.25, -3}, kF64),
          from_values({2, 4}, {0.5, 0.5, 0.2, 0.4, 0.25, 0.25, 0.5, 0.5}, kF64)};
}

const Objects kObjects{{1, 0}, {0.5, 0.5, 0.2, 0.4, 0.75, 0.25, 0.5, 0.5}};

}  // namespace

TEST_CASE("DETR's class cost is minus the probability of the object's class") {
  const Tensor cost = matching_costs(two_queries(), kObjects, ClassLoss::softmax).classes;
  const double first = std::exp(0.5) + std::exp(-1) + std::exp(2);
  const double second = 1 + std::exp(0.25) + std::exp(-3);
  CHECK(cost.shape() == Shape{2, 2});
  CHECK(cost.at(0) == Approx(-std::exp(-1) / first).epsilon(1e-14));
  CHECK(cost.at(1) == Approx(-std::exp(0.5) / first).epsilon(1e-14));
  CHECK(cost.at(2) == Approx(-std::exp(0.25) / second).epsilon(1e-14));
  CHECK(cost.at(3) == Approx(-1 / second).epsilon(1e-14));
}

TEST_CASE("Deformable DETR's class cost is the focal loss of the class less that of its absence") {
  const Tensor cost = matching_costs(two_queries(), kObjects, ClassLoss::focal).classes;
  const auto expected = [](double logit) {
    const double p = 1 / (1 + std::exp(-logit));
    return 0.25 * (1 - p) * (1 - p) * -std::log(p + 1e-8) - 0.75 * p * p * -std::log(1 - p + 1e-8);
  };
  CHECK(cost.at(0) == Approx(expected(-1)).epsilon(1e-14));
  CHECK(cost.at(1) == Approx(expected(0.5)).epsilon(1e-14));
  CHECK(cost.at(2) == Approx(expected(0.25)).epsilon(1e-14));
}

TEST_CASE("box costs of each query and object") {
  const MatchingCosts costs = matching_costs(two_queries(), kObjects, ClassLoss::softmax);
  CHECK(costs.l1.at(0) == 0);
  CHECK(costs.l1.at(1) == Approx(0.25 + 0.25 + 0.3 + 0.1).epsilon(1e-14));
  CHECK(costs.l1.at(3) == Approx(0.5).epsilon(1e-14));
  CHECK(costs.giou.at(0) == Approx(1).epsilon(1e-14));
  CHECK(std::abs(costs.giou.at(3)) < 1e-14);  // side by side: no overlap, and the hull is full
}

TEST_CASE("the weights decide which term matters") {
  // Query 0 has object 0's box; query 1 has the better class.
  const Predictions predictions{
      from_values({2, 2}, {-3, 0, 3, 0}, kF64),
      from_values({2, 4}, {0.5, 0.5, 0.2, 0.4, 0.45, 0.5, 0.2, 0.4}, kF64)};
  const Objects object{{0}, {0.5, 0.5, 0.2, 0.4}};
  CHECK(match_objects(predictions, object, {.class_weight = 0.1}) ==
        std::vector<MatchedPair>{{0, 0}});
  CHECK(match_objects(predictions, object, {.class_weight = 10}) ==
        std::vector<MatchedPair>{{1, 0}});
  CHECK(match_objects(predictions, Objects{}, {}).empty());
}

}  // namespace fovea
