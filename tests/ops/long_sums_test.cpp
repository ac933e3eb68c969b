// Sums of many terms in f32.
#include "tests/support/long_sums.h"

#include <doctest/doctest.h>

using namespace fovea;

TEST_CASE("ones that follow 2^24 are counted, in every sum of an op and of its derivative") {
  for (const tests::LongSum& sum : tests::long_sums()) {
    CAPTURE(sum.name);
    CHECK(std::abs(tests::lost(sum, {})) < tests::kMostLost);
  }
}

TEST_CASE("sums of tenths keep their digits") {
  for (const tests::LongSum& sum : tests::long_sums()) {
    CAPTURE(sum.name);
    const double right = static_cast<double>(sum.terms) * static_cast<double>(0.1F);
    CHECK(sum.sum(full({sum.terms}, 0.1)) == doctest::Approx(right).epsilon(2e-5));
  }
}
