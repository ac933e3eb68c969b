// Constant predictions from the depths of training pictures.
#include "models/depth/baselines.h"

#include <doctest/doctest.h>

#include "engine/base/error.h"

namespace fovea {

TEST_CASE("the median of all known depths, and the mean of each pixel's") {
  DepthStatistics statistics;
  for (const std::vector<double>& depths :
       {std::vector<double>{1, 0, 3}, {2, 0, 0}, {6, 0, 5}, {3, 0, 0}}) {
    statistics.add({depths, 1, 3});
  }
  const DepthBaselines baselines = statistics.baselines();
  REQUIRE(baselines.mean.size() == 3);
  CHECK(baselines.mean[0] == 3);
  CHECK(baselines.mean[1] == doctest::Approx(3).epsilon(3e-4));  // the median of 1 2 3 3 5 6
  CHECK(baselines.mean[2] == 4);
  for (const double value : baselines.median) CHECK(value == doctest::Approx(3).epsilon(3e-4));
}

TEST_CASE("the median is within 0.02 % at any scale") {
  for (const double scale : {0.01, 0.7, 9.0, 80.0}) {
    DepthStatistics statistics;
    std::vector<double> depths;
    for (int i = 1; i <= 101; ++i) depths.push_back(scale * i / 51.0);
    statistics.add({depths, 1, 101});
    CHECK(statistics.baselines().median[0] == doctest::Approx(scale).epsilon(2e-4));
  }
}

TEST_CASE("baselines without any known depth, or from pictures of two sizes, are errors") {
  DepthStatistics none;
  const std::vector<double> unknown{0, 0}, three{1, 2, 3};
  none.add({unknown, 1, 2});
  CHECK_THROWS_WITH_AS(static_cast<void>(none.baselines()), doctest::Contains("no depth is known"),
                       Error);
  CHECK_THROWS_WITH_AS(none.add({three, 1, 3}), doctest::Contains("got a picture of 1 x 3"), Error);
}

}  // namespace fovea
