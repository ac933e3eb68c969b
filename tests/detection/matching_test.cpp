// Assignment of least cost, against all permutations.
#include "models/detection/matching.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "engine/random.h"
#include "engine/tensor.h"
#include "tests/support/errors.h"

namespace fovea {
namespace {

using tests::check_error;

std::vector<double> random_costs(std::int64_t queries, std::int64_t targets, std::uint64_t seed) {
  return rand_uniform({queries, targets}, {-3, 2}, {seed}, {DType::f64, {}}).to_vector();
}

double cost_of(const std::vector<double>& cost, std::int64_t targets,
               const std::vector<MatchedPair>& pairs) {
  double sum = 0;
  for (const MatchedPair& p : pairs)
    sum += cost[static_cast<std::size_t>(p.query * targets + p.target)];
  return sum;
}

/// The least cost over all ways to give each of the fewer side a partner.
double least_cost(const std::vector<double>& cost, std::int64_t queries, std::int64_t targets) {
  const auto fewer = std::min(queries, targets), more = std::max(queries, targets);
  std::vector<std::int64_t> order(static_cast<std::size_t>(more));
  std::iota(order.begin(), order.end(), 0);
  double best = INFINITY;
  do {
    double sum = 0;
    for (std::int64_t i = 0; i < fewer; ++i) {
      const std::int64_t partner = order[static_cast<std::size_t>(i)];
      const auto [q, t] = queries <= targets ? std::pair(i, partner) : std::pair(partner, i);
      sum += cost[static_cast<std::size_t>(q * targets + t)];
    }
    best = std::min(best, sum);
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

/// Queries ascend, and no query and no target occurs twice.
bool is_matching(const std::vector<MatchedPair>& pairs) {
  std::set<std::int64_t> targets;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (i > 0 && pairs[i].query <= pairs[i - 1].query) return false;
    if (!targets.insert(pairs[i].target).second) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("no permutation is cheaper, whatever the shape") {
  for (std::int64_t queries = 1; queries <= 6; ++queries) {
    for (std::int64_t targets = 1; targets <= 6; ++targets) {
      CAPTURE(queries);
      CAPTURE(targets);
      const auto cost =
          random_costs(queries, targets, static_cast<std::uint64_t>(10 * queries + targets));
      const std::vector<MatchedPair> pairs = match(cost, queries, targets);
      CHECK(pairs.size() == static_cast<std::size_t>(std::min(queries, targets)));
      CHECK(is_matching(pairs));
      CHECK(cost_of(cost, targets, pairs) ==
            doctest::Approx(least_cost(cost, queries, targets)).epsilon(1e-12));
    }
  }
}

TEST_CASE("the cheapest query is not always taken") {
  // Target 0 fits query 0 best, but target 1 needs it more.
  CHECK(match(std::vector<double>{1, 2, 3, 90}, 2, 2) == std::vector<MatchedPair>{{0, 1}, {1, 0}});
}

TEST_CASE("equal costs give one of the matchings, the same every time") {
  const std::vector<double> cost(5 * 3, 0.25);
  const std::vector<MatchedPair> pairs = match(cost, 5, 3);
  CHECK(pairs.size() == 3);
  CHECK(is_matching(pairs));
  CHECK(match(cost, 5, 3) == pairs);
}

TEST_CASE("one target takes its cheapest query") {
  CHECK(match(std::vector<double>{3, -1, 2, 0}, 4, 1) == std::vector<MatchedPair>{{1, 0}});
}

TEST_CASE("without queries or targets there are no pairs") {
  CHECK(match({}, 0, 0).empty());
  CHECK(match({}, 4, 0).empty());
  CHECK(match({}, 0, 4).empty());
}

TEST_CASE("a cost that is not finite is an error, which names the pair") {
  for (const double bad : {double(NAN), double(INFINITY), -double(INFINITY)}) {
    check_error(
        [&] {
          (void)match(std::vector<double>{1, 2, 3, 4, bad, 6}, 3, 2);
        },
        "query 2 and target 0");
  }
}

TEST_CASE("the number of costs must be queries times targets") {
  check_error(
      [&] {
        (void)match(std::vector<double>{1, 2, 3}, 2, 2);
      },
      "3 costs for 2 queries and 2 targets");
}

}  // namespace fovea
