// Philox against the vectors published with Random123 (Salmon et al., kat_vectors), and the draws
// built on it.
#include "engine/rng.h"

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "engine/base/error.h"
#include "engine/random.h"
#include "engine/tensor.h"

using namespace fovea;

namespace {

void check_vector(Philox4 counter, std::uint32_t key0, std::uint32_t key1, Philox4 expected) {
  const Philox4 got = philox4x32_10(counter, key0, key1);
  for (int i = 0; i < 4; ++i) CHECK(got.v[i] == expected.v[i]);
}

}  // namespace

TEST_CASE("philox4x32-10 gives the published vectors") {
  check_vector({{0, 0, 0, 0}}, 0, 0, {{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}});
  check_vector({{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}}, 0xffffffff, 0xffffffff,
               {{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}});
  check_vector({{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, 0xa4093822, 0x299f31d0,
               {{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}});
}

TEST_CASE("below covers its range and nothing else") {
  Rng rng(1);
  std::set<std::int64_t> seen;
  for (int i = 0; i < 500; ++i) seen.insert(rng.below(7));
  CHECK(seen == std::set<std::int64_t>{0, 1, 2, 3, 4, 5, 6});
  CHECK_THROWS_AS(rng.below(0), Error);
}

TEST_CASE("moments of the draws are those of their distributions") {
  Rng rng(5, 3);
  constexpr int kDraws = 40000;
  double uniform = 0, normal = 0, square = 0, beta = 0, gamma = 0;
  for (int i = 0; i < kDraws; ++i) {
    uniform += rng.uniform();
    const double z = rng.normal();
    normal += z;
    square += z * z;
    beta += rng.beta(0.8, 0.4);
    gamma += rng.gamma(0.8);
  }
  CHECK(uniform / kDraws == doctest::Approx(0.5).epsilon(0.01));
  CHECK(std::abs(normal / kDraws) < 0.02);
  CHECK(square / kDraws == doctest::Approx(1).epsilon(0.03));
  CHECK(beta / kDraws == doctest::Approx(0.8 / 1.2).epsilon(0.01));
  CHECK(gamma / kDraws == doctest::Approx(0.8).epsilon(0.03));
}

TEST_CASE("a beta of tiny shapes is 0 or 1, each half of the time, and never nothing") {
  Rng rng(7);
  int ones = 0;
  for (int i = 0; i < 1000; ++i) {
    const double value = rng.beta(1e-3, 1e-3);
    REQUIRE(value >= 0);
    REQUIRE(value <= 1);
    ones += value > 0.5 ? 1 : 0;
  }
  CHECK(ones > 450);
  CHECK(ones < 550);
}

TEST_CASE("uniform numbers lie in [lo, hi), in every dtype") {
  const auto check_range = [](double lo, double hi, DType dtype) {
    CAPTURE(lo);
    CAPTURE(hi);
    CAPTURE(to_string(dtype));
    std::int64_t outside = 0;
    for (const double x : rand_uniform({1 << 16}, {lo, hi}, {7}, {dtype, {}}).to_vector()) {
      outside += x < lo || x >= hi;
    }
    CHECK(outside == 0);
  };
  for (const DType dtype : {DType::bf16, DType::f32, DType::f64}) {
    check_range(0, 1, dtype);
    check_range(-1, 1, dtype);
    check_range(0.7, 0.9, dtype);
    check_range(-0.3, -0.1, dtype);
  }
  check_range(1, 1 + 4 * 0x1p-23, DType::f32);
  check_range(-5, 5, DType::i64);
  check_range(0.5, 3, DType::u8);
}

TEST_CASE("whole numbers of a range are equally likely, on both sides of 0") {
  std::map<double, int> counts;
  for (const double x : rand_uniform({100000}, {-5, 5}, {3}, {DType::i64, {}}).to_vector()) {
    ++counts[x];
  }
  CHECK(counts.size() == 10);
  for (const auto& found : counts) {
    CAPTURE(found.first);
    CHECK(std::abs(found.second - 10000) < 500);
  }
}

TEST_CASE("a range without numbers is refused, one of equal bounds is its bound") {
  CHECK(rand_uniform({2}, {3, 3}, {1}).to_vector() == std::vector<double>{3, 3});
  CHECK_THROWS_AS((void)rand_uniform({2}, {1, 0}, {1}), Error);
  CHECK_THROWS_AS((void)rand_uniform({2}, {0, INFINITY}, {1}), Error);
  CHECK_THROWS_AS((void)rand_uniform({2}, {0.2, 0.7}, {1}, {DType::i64, {}}), Error);
  CHECK_THROWS_AS((void)rand_uniform({2}, {1.001, 1.002}, {1}, {DType::bf16, {}}), Error);
}

TEST_CASE("element i of a random tensor does not depend on the shape around it") {
  const Tensor longer = rand_normal({101}, {0, 1}, {7, 2});
  const Tensor shorter = rand_normal({5}, {0, 1}, {7, 2});
  for (int i = 0; i < 5; ++i) CHECK(longer.at(i) == shorter.at(i));
  CHECK(rand_normal({5}, {0, 1}, {7, 3}).at(0) != shorter.at(0));
}
