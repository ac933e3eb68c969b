// The built-in pictures never change, and no single pixel gives the class away.
#include "data/sources/drawn/builtin.h"

#include <doctest/doctest.h>

#include <cmath>

#include "engine/base/error.h"
#include "tests/data/hash.h"

namespace fovea {

TEST_CASE("built-in pictures are pinned to the bit") {
  const Builtin train(Split::train), test(Split::test), other(Split::train, {.seed = 1});
  const std::uint64_t expected[] = {0xa4cd70b5de3e5add, 0x67666d3cfb9f1ca2, 0xab16293ac3ee144c,
                                    0xc3f1712eeccb6e37};
  CHECK(tests::hash_of(train.get(0).image) == expected[0]);
  CHECK(tests::hash_of(train.get(19'999).image) == expected[1]);
  CHECK(tests::hash_of(test.get(5).image) == expected[2]);
  CHECK(tests::hash_of(other.get(9).image) == expected[3]);
}

TEST_CASE("a built-in picture depends on seed, split and index alone") {
  const Builtin large(Split::train), small(Split::train, {.train_size = 50});
  CHECK(large.get(42).image == small.get(42).image);
  CHECK(large.get(42).image != Builtin(Split::test).get(42).image);
  CHECK(large.get(42).image != Builtin(Split::train, {.seed = 1}).get(42).image);
  CHECK(large.get(42).image != large.get(52).image);
}

TEST_CASE("built-in classes are balanced and named") {
  const Builtin test(Split::test);
  CHECK(test.classes() == 10);
  std::vector<int> count(10);
  for (std::int64_t i = 0; i < test.size(); ++i) ++count[test.get(i).label];
  CHECK(count == std::vector<int>(10, 200));
}

TEST_CASE("the mean picture of every class is grey: colours are no cue") {
  const Builtin train(Split::train);
  for (std::int64_t label = 0; label < 10; ++label) {
    std::array<double, 3> sum{};
    constexpr int count = 300;
    for (int i = 0; i < count; ++i) {
      const Image image = train.get(10 * i + label).image;
      for (std::size_t p = 0; p < image.pixels.size(); ++p) sum[p % 3] += image.pixels[p];
    }
    for (const double channel : sum)  // 5 standard errors: 72 / sqrt(300) each
      CHECK(std::abs(channel / (count * 1024) - 127.5) < 21);
  }
}

TEST_CASE("the built-in set refuses bad sizes and indices") {
  CHECK_THROWS_WITH_AS(Builtin(Split::test, {.test_size = 0}),
                       "builtin: got a size of 0, expected 1 or more", Error);
  CHECK_THROWS_WITH_AS((void)Builtin(Split::test).get(2000),
                       "builtin: got index 2000, expected 0 to 1999", Error);
}

}  // namespace fovea
