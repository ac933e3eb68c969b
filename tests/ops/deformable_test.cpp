// Deformable attention by value: where cells lie, what is outside, kinks, NaN, dtypes, errors.
#include "ops/deformable.h"

#include <doctest/doctest.h>

#include <cmath>

#include "engine/autograd.h"
#include "tests/support/f64.h"
#include "tests/support/values.h"

using namespace fovea;
using doctest::Approx;
using doctest::Contains;

namespace {

/// A map of height 2 and width 3 with one channel.
Tensor small_map() { return from_values({1, 2, 3, 1, 1}, {1, 2, 4, 8, 16, 32}, kF64); }

/// The map sampled at (x, y) pairs, each with weight 1.
Values samples(const Tensor& map, const Values& locations) {
  const auto queries = static_cast<std::int64_t>(locations.size() / 2);
  const Tensor at = from_values({1, queries, 1, 1, 2}, locations, kF64);
  return ops::deformable_attention(map, at, ones({1, queries, 1, 1}, kF64)).to_vector();
}

/// The gradient of one sample with respect to its location.
Values slope(const Tensor& map, double x, double y) {
  const Tensor at = from_values({1, 1, 1, 1, 2}, {x, y}, kF64);
  at.set_requires_grad();
  const Tensor sample = ops::deformable_attention(map, at, ones({1, 1, 1, 1}, kF64));
  backward(sample, ones(sample.shape(), kF64));
  return at.grad().to_vector();
}

void check_close(const Values& ours, const Values& expected) {
  REQUIRE(ours.size() == expected.size());
  for (std::size_t i = 0; i < ours.size(); ++i) {
    CHECK(ours[i] == Approx(expected[i]).epsilon(1e-12));
  }
}

}  // namespace

TEST_CASE("a location on a cell's centre reads that cell") {
  check_close(samples(small_map(), {1 / 6.0, 0.25, 0.5, 0.25, 5 / 6.0, 0.25, 1 / 6.0, 0.75, 0.5,
                                    0.75, 5 / 6.0, 0.75}),
              {1, 2, 4, 8, 16, 32});
}

TEST_CASE("between centres the sample is bilinear") {
  check_close(samples(small_map(), {1 / 3.0, 0.25, 0.5, 0.5, 2 / 3.0, 0.5}), {1.5, 9, 13.5});
}

TEST_CASE("cells outside the map are 0") {
  // On the border half of the weight is outside; on a corner three quarters are.
  check_close(samples(small_map(), {0, 0.25, 1, 0.75, 0.5, 0, 0, 0, 1, 1}), {0.5, 16, 1, 0.25, 8});
  // Half a cell beyond the border nothing is left.
  CHECK(samples(small_map(), {-1 / 6.0, 0.25, 7 / 6.0, 0.25, 0.5, -0.25, 0.5, 1.25, -1e9, 0.5, 0.5,
                              INFINITY}) == Values(6, 0));
}

TEST_CASE("at a centre the derivative is that towards larger coordinates") {
  check_close(slope(small_map(), 0.5, 0.25), {3 * (4 - 2), 2 * (16 - 2)});
  check_close(slope(small_map(), 2 / 3.0, 0.25), {3 * (4 - 2), 2 * (24 - 3)});
}

TEST_CASE("outside the map no gradient reaches the location") {
  CHECK(slope(small_map(), 1.5, 0.5) == Values{0, 0});
}

TEST_CASE("a NaN location gives NaN, and so does a NaN weight") {
  CHECK(std::isnan(samples(small_map(), {NAN, 0.5})[0]));
  CHECK(std::isnan(samples(small_map(), {7, NAN})[0]));
  const Tensor at = full({1, 1, 1, 1, 2}, 0.5, kF64);
  const Tensor weight = full({1, 1, 1, 1}, NAN, kF64);
  CHECK(std::isnan(ops::deformable_attention(small_map(), at, weight).item()));
}

TEST_CASE("each head and image reads its own part of the values") {
  // value = 1000 image + 100 head + 10 channel; every location is inside.
  Values values;
  for (std::int64_t i = 0; i < 2 * 4 * 3 * 2; ++i) {
    values.push_back(static_cast<double>(1000 * (i / 24) + 100 * (i / 2 % 3) + 10 * (i % 2)));
  }
  const Tensor value = from_values({2, 2, 2, 3, 2}, values, kF64);
  const Tensor at = full({2, 1, 3, 2, 2}, 0.5, kF64);
  const Tensor weights = from_values({2, 1, 3, 2}, {1, 0, 2, 0, 0, 3, 1, 1, 2, 2, 3, 3}, kF64);
  CHECK(ops::deformable_attention(value, at, weights).shape() == Shape{2, 1, 6});
  check_close(ops::deformable_attention(value, at, weights).to_vector(),
              {0, 10, 200, 220, 600, 630, 2000, 2020, 4400, 4440, 7200, 7260});
}

TEST_CASE("a bf16 value is read at f32 locations") {
  // The bf16 closest to 0.5 + 1/1000 is 0.5, half a step to the left of the kink.
  const Tensor map = from_values({1, 1, 2, 1, 1}, {0, 1}).to(DType::bf16);
  const Tensor at = from_values({1, 1, 1, 1, 2}, {0.501, 0.5});
  at.set_requires_grad();
  const Tensor y = ops::deformable_attention(map, at, ones({1, 1, 1, 1}));
  CHECK(y.dtype() == DType::bf16);
  CHECK(y.item() == Approx(0.502).epsilon(4e-3));
  backward(y, ones(y.shape()));
  CHECK(at.grad().dtype() == DType::f32);
  CHECK(at.grad().at(0) == Approx(2));
}

TEST_CASE("deformable attention refuses what does not fit, by name") {
  const Tensor value = zeros({1, 2, 3, 2, 4}), at = zeros({1, 5, 2, 3, 2});
  const Tensor weights = zeros({1, 5, 2, 3});
  const auto attend = [](const Tensor& v, const Tensor& l, const Tensor& w) {
    (void)ops::deformable_attention(v, l, w);
  };
  CHECK_THROWS_WITH_AS(attend(zeros({2, 3, 2, 4}), at, weights),
                       Contains("expected [B, h, w, H, D]"), Error);
  CHECK_THROWS_WITH_AS(attend(value, zeros({1, 5, 1, 3, 2}), weights),
                       Contains("expected [1, Q, 2, P, 2]"), Error);
  CHECK_THROWS_WITH_AS(attend(value, at, zeros({1, 5, 2, 4})), Contains("expected [1, 5, 2, 3]"),
                       Error);
  CHECK_THROWS_WITH_AS(attend(value, zeros({1, 5, 2, 3, 2}, {DType::i64, {}}), weights),
                       Contains("expected f64, f32 or bf16"), Error);
}
