// Losses of depth against numbers worked out by hand, their derivatives, and unknown pixels.
#include "models/depth/loss.h"

#include <doctest/doctest.h>

#include <cmath>

#include "engine/autograd.h"
#include "engine/base/error.h"
#include "engine/gradcheck.h"
#include "engine/random.h"

namespace fovea {
namespace {

constexpr TensorOptions kExact{DType::f64, {}};

Tensor maps(const Shape& shape, const std::vector<double>& values) {
  return from_values(shape, values, kExact);
}

/// Two pictures of 1 x 3 pixels, with two and with one known depth.
const std::vector<double> kTargets{2, 0, 4, 1, 0, 0};
const std::vector<double> kDepths{1, 50, 7, 3, 60, 70};

}  // namespace

TEST_CASE("l1 is the mean over the known pixels of the batch, not over pictures") {
  const Tensor loss =
      depth_loss(DepthLoss::l1, maps({2, 1, 3}, kDepths), maps({2, 1, 3}, kTargets));
  CHECK(loss.item() == doctest::Approx((1 + 3 + 2) / 3.0).epsilon(1e-12));
}

TEST_CASE("the scale-invariant loss is a mean over pictures of their own means") {
  const Tensor loss =
      depth_loss(DepthLoss::scale_invariant, maps({2, 1, 3}, kDepths), maps({2, 1, 3}, kTargets));
  const double a = std::log(1 / 2.0), b = std::log(7 / 4.0), c = std::log(3 / 1.0);
  const double first = (a * a + b * b) / 2 - 0.5 * std::pow((a + b) / 2, 2);
  const double second = c * c - 0.5 * c * c;
  CHECK(loss.item() == doctest::Approx((first + second) / 2).epsilon(1e-12));
}

TEST_CASE("a factor on all depths costs half of its squared logarithm") {
  const Tensor target = maps({1, 2, 2}, {1, 2, 0, 4});
  const Tensor twice = maps({1, 2, 2}, {2, 4, 9, 8});
  CHECK(depth_loss(DepthLoss::scale_invariant, twice, target).item() ==
        doctest::Approx(0.5 * std::pow(std::log(2), 2)).epsilon(1e-12));
}

TEST_CASE("unknown pixels have no part in a loss or its gradient") {
  for (const DepthLoss kind : {DepthLoss::l1, DepthLoss::scale_invariant}) {
    CAPTURE(name_of(kind));
    const Tensor target = maps({2, 1, 3}, kTargets);
    Tensor depths = maps({2, 1, 3}, kDepths);
    depths.set_requires_grad();
    const Tensor loss = depth_loss(kind, depths, target);
    backward(loss);
    std::vector<double> others = kDepths;
    for (const std::size_t i : {1, 4, 5}) {
      others[i] = 0.125;
      CHECK(depths.grad().at(static_cast<std::int64_t>(i)) == 0);
    }
    CHECK(depth_loss(kind, maps({2, 1, 3}, others), target).item() == loss.item());
  }
}

TEST_CASE("without any known pixel a loss is 0, and so is its gradient") {
  for (const DepthLoss kind : {DepthLoss::l1, DepthLoss::scale_invariant}) {
    Tensor depths = maps({1, 1, 2}, {3, 4});
    depths.set_requires_grad();
    const Tensor loss = depth_loss(kind, depths, zeros({1, 1, 2}, kExact));
    CHECK(loss.item() == 0);
    backward(loss);
    CHECK(depths.grad().to_vector() == std::vector<double>{0, 0});
  }
}

TEST_CASE("gradients of both losses agree with central differences") {
  const Tensor target = maps({2, 2, 3}, {1, 0, 3, 2, 5, 0, 0, 0, 4, 1, 2, 0});
  for (const DepthLoss kind : {DepthLoss::l1, DepthLoss::scale_invariant}) {
    CAPTURE(name_of(kind));
    const Tensor depths = rand_uniform({2, 2, 3}, {6, 9}, {3}, kExact).set_requires_grad();
    const GradcheckResult result = gradcheck(
        [&](const std::vector<Tensor>& in) { return depth_loss(kind, in[0], target); }, {depths});
    INFO(result.message);
    CHECK(result.ok);
  }
}

TEST_CASE("depths and targets of different shapes are named") {
  CHECK_THROWS_WITH_AS(
      static_cast<void>(depth_loss(DepthLoss::l1, zeros({1, 2, 3}), zeros({1, 3, 2}))),
      doctest::Contains("depth_loss: got depths [1, 2, 3] and targets [1, 3, 2]"), Error);
}

}  // namespace fovea
