// Interpolation by its properties and on small examples; PyTorch's values are in the goldens.
#include "ops/resize.h"

#include <doctest/doctest.h>

#include <cmath>

#include "engine/autograd.h"
#include "engine/random.h"
#include "ops/arithmetic.h"
#include "ops/reduce.h"
#include "tests/support/errors.h"
#include "tests/support/f64.h"

using namespace fovea;
using ops::ResizeMode;
using tests::check_error;

TEST_CASE("a unit impulse, enlarged twice") {
  const Tensor x = from_values({1, 1, 1, 9}, {0, 0, 0, 0, 1, 0, 0, 0, 0}, kF64);
  const std::vector<double> plain{-0.0352, -0.1055, 0.2617, 0.8789};
  const std::vector<double> smooth{-0.0234, -0.0703, 0.2266, 0.8672};
  for (const bool antialias : {false, true}) {
    const Tensor y = ops::resize(x, {1, 18}, {.antialias = antialias});
    const std::vector<double>& expected = antialias ? smooth : plain;
    for (std::int64_t i = 0; i < 4; ++i) {
      CHECK(std::abs(y.at(5 + i) - expected[static_cast<std::size_t>(i)]) < 5e-5);
      CHECK(y.at(12 - i) == doctest::Approx(y.at(5 + i)).epsilon(1e-12));
    }
    CHECK(y.at(4) == doctest::Approx(0));
  }
}

TEST_CASE("constants stay constant and the same size is the identity") {
  for (const ResizeMode mode : {ResizeMode::bilinear, ResizeMode::bicubic}) {
    for (const bool antialias : {false, true}) {
      const ops::ResizeOptions options{mode, antialias};
      for (const double v :
           ops::resize(full({1, 2, 5, 7}, 3, kF64), {11, 4}, options).to_vector()) {
        CHECK(v == doctest::Approx(3).epsilon(1e-12));
      }
      const Tensor x = rand_normal({2, 1, 5, 7}, {0, 1}, {3}, kF64);
      CHECK(ops::resize(x, {5, 7}, options).to_vector() == x.to_vector());
    }
  }
}

TEST_CASE("antialiased bilinear halving averages") {
  const Tensor x = from_values({1, 1, 1, 6}, {8, 0, 0, 8, 0, 0}, kF64);
  const Tensor y = ops::resize(x, {1, 3}, {.mode = ResizeMode::bilinear, .antialias = true});
  // Weights 1/8, 3/8, 3/8, 1/8 inside, 3/7, 3/7, 1/7 at an edge.
  CHECK(y.at(0) == doctest::Approx(24.0 / 7));
  CHECK(y.at(1) == doctest::Approx(3));
  CHECK(y.at(2) == doctest::Approx(8.0 / 7));
}

TEST_CASE("nearest upsampling repeats every pixel in a square") {
  const Tensor x = from_values({1, 2, 1, 3}, {1, 2, 3, 4, 5, 6}, kF64);
  const Tensor y = ops::upsample_nearest(x, 2);
  CHECK(y.shape() == Shape{1, 2, 2, 6});
  CHECK(y.to_vector() == std::vector<double>{1, 1, 2, 2, 3, 3, 1, 1, 2, 2, 3, 3,  //
                                             4, 4, 5, 5, 6, 6, 4, 4, 5, 5, 6, 6});
  CHECK(ops::upsample_nearest(x, 3).shape() == Shape{1, 2, 3, 9});
  CHECK(ops::upsample_nearest(x, 1).to_vector() == x.to_vector());
}

TEST_CASE("the derivative of nearest upsampling sums each square") {
  const Tensor x = zeros({1, 1, 1, 2}, kF64).set_requires_grad();
  const Tensor dy = from_values({1, 1, 2, 4}, {1, 2, 3, 4, 10, 20, 30, 40}, kF64);
  backward(ops::sum(ops::upsample_nearest(x, 2) * dy));
  CHECK(x.grad().to_vector() == std::vector<double>{33, 77});
}

TEST_CASE("nearest upsampling errors") {
  check_error(
      [] {
        (void)ops::upsample_nearest(zeros({4, 4}), 2);
      },
      "upsample_nearest: got shape [4, 4], expected [B, C, H, W]");
  check_error(
      [] {
        (void)ops::upsample_nearest(zeros({1, 1, 2, 2}), 0);
      },
      "upsample_nearest: got factor 0, expected 1 to");
  check_error(
      [] {
        (void)ops::upsample_nearest(zeros({1, 1, 2, 2}, {DType::i64, {}}), 2);
      },
      "upsample_nearest: got dtype i64");
}

TEST_CASE("position embeddings keep their prefix") {
  const Tensor pos = rand_normal({1, 2 + 12, 5}, {0, 1}, {4}, kF64);
  const Tensor y = ops::resample_pos_embed(pos, 2, {3, 4}, {5, 2});
  CHECK(y.shape() == Shape{1, 12, 5});
  for (std::int64_t i = 0; i < 10; ++i) CHECK(y.at(i) == pos.at(i));
  CHECK(ops::resample_pos_embed(pos, 2, {3, 4}, {3, 4}).is_same(pos));
}

TEST_CASE("resize errors") {
  const Tensor x = zeros({1, 1, 4, 4});
  check_error([&] { (void)ops::resize(zeros({4, 4}), {2, 2}); }, "resize: got x [4, 4]");
  check_error([&] { (void)ops::resize(x, {0, 2}); }, "resize: got size 0 x 2");
  check_error(
      [&] {
        (void)ops::resize(zeros({1, 1, 0, 4}), {2, 2});
      },
      "resize: got x [1, 1, 0, 4]");
  check_error(
      [&] {
        (void)ops::resize(zeros({1, 1, 2, 2}, {DType::i64, {}}), {2, 2});
      },
      "resize: got dtype i64");
  check_error(
      [&] {
        (void)ops::resample_pos_embed(zeros({1, 17, 3}), 1, {4, 5}, {2, 2});
      },
      "resample_pos_embed: got [1, 17, 3], expected [1, 1 + 4 x 5, D]");
}
