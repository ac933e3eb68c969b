// Measures of depth against numbers worked out by hand, and their sums.
#include "models/depth/measures.h"

#include <doctest/doctest.h>

#include <cmath>

#include "engine/base/error.h"

namespace fovea {
namespace {

DepthPicture row(const std::vector<double>& values) { return {values, 1, std::ssize(values)}; }

}  // namespace

TEST_CASE("all measures of a picture") {
  const std::vector<double> depth{2, 0, 4, 5}, predicted{3.5, 9, 4, 4};
  const DepthMeasures m = measure_depth({}, row(predicted), row(depth)).measures();
  CHECK(m[kRmse] == doctest::Approx(std::sqrt(3.25 / 3)));
  CHECK(m[kImageRmse] == doctest::Approx(std::sqrt(3.25 / 3)));
  CHECK(m[kAbsRel] == doctest::Approx((0.75 + 0 + 0.2) / 3));
  CHECK(m[kLog10] == doctest::Approx((std::log10(1.75) + std::log10(1.25)) / 3));
  CHECK(m[kDelta1] == doctest::Approx(1.0 / 3));  // 5 / 4 is not below 1.25
  CHECK(m[kDelta2] == doctest::Approx(2.0 / 3));
  CHECK(m[kDelta3] == doctest::Approx(1));
}

TEST_CASE("a ratio of exactly 1.25, 1.25^2 or 1.25^3 is not below it, either way round") {
  for (const double power : {1.25, 1.5625, 1.953125}) {
    for (const bool inverse : {false, true}) {
      const std::vector<double> near{1}, far{power};
      const DepthMeasures m =
          measure_depth({}, row(inverse ? near : far), row(inverse ? far : near)).measures();
      CHECK(m[kDelta1] == 0);
      CHECK(m[kDelta2] == (power < 1.5 ? 1 : 0));
      CHECK(m[kDelta3] == (power < 1.9 ? 1 : 0));
    }
  }
}

TEST_CASE("RMSE is over all pixels of the set, its other form over pictures") {
  const std::vector<double> large{1, 1, 1, 1}, small{1, 0, 0, 0}, two{2, 2, 2, 2}, four{4, 4, 4, 4};
  DepthSums sums = measure_depth({}, row(two), row(large));
  sums += measure_depth({}, row(four), row(small));
  CHECK(sums.pixels == 5);
  CHECK(sums.pictures == 2);
  CHECK(sums.measures()[kRmse] == doctest::Approx(std::sqrt((4 * 1 + 9) / 5.0)));
  CHECK(sums.measures()[kImageRmse] == doctest::Approx((1 + 3) / 2.0));
  CHECK(DepthSums::from(sums.to_vector()).measures() == sums.measures());
}

TEST_CASE("a picture without known depth changes no measure") {
  const std::vector<double> depth{2, 3}, predicted{2.5, 3.5}, unknown{0, 0};
  DepthSums sums = measure_depth({}, row(predicted), row(depth));
  const DepthMeasures before = sums.measures();
  sums += measure_depth({}, row(predicted), row(unknown));
  CHECK(sums.measures() == before);
  for (const double nothing : DepthSums().measures()) CHECK(std::isnan(nothing));
}

TEST_CASE("predictions are clipped, and depths out of range do not count") {
  const DepthProtocol protocol{.least = 1, .most = 8};
  const std::vector<double> depth{0.5, 1, 8, 9}, predicted{3, -5, 100, 3};
  const DepthSums sums = measure_depth(protocol, row(predicted), row(depth));
  CHECK(sums.pixels == 2);
  CHECK(sums.measures()[kRmse] == 0);
}

TEST_CASE("median alignment removes a factor, before clipping") {
  const DepthProtocol aligned{.median = true};
  const std::vector<double> depth{2, 0, 4, 6}, third{2.0 / 3, 77, 4.0 / 3, 2};
  CHECK(measure_depth(aligned, row(third), row(depth)).measures()[kRmse] ==
        doctest::Approx(0).epsilon(1e-12));
  const std::vector<double> tenfold{20, 1, 40, 60};
  CHECK(measure_depth(aligned, row(tenfold), row(depth)).measures()[kRmse] ==
        doctest::Approx(0).epsilon(1e-12));
  CHECK(measure_depth({}, row(third), row(depth)).measures()[kRmse] > 1);
}

TEST_CASE("the median of an even number of values is between the two in the middle") {
  CHECK(median_of({5, 1, 3}) == 3);
  CHECK(median_of({7, 1, 4, 2}) == 3);
  CHECK(median_of({4}) == 4);
  CHECK_THROWS_AS(static_cast<void>(median_of({})), Error);
}

TEST_CASE("a prediction of another size is an error with both sizes") {
  const std::vector<double> two{1, 2}, three{1, 2, 3};
  CHECK_THROWS_WITH_AS(static_cast<void>(measure_depth({}, row(two), row(three))),
                       doctest::Contains("a prediction of 1 x 2"), Error);
}

}  // namespace fovea
