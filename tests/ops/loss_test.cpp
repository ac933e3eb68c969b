// Losses: known values, extreme logits, dtypes, labels out of range.
#include "ops/loss.h"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "engine/autograd.h"
#include "engine/parallel.h"
#include "engine/random.h"
#include "ops/arithmetic.h"
#include "ops/softmax.h"
#include "tests/support/f64.h"
#include "tests/support/special_values.h"

using namespace fovea;
using doctest::Approx;
using doctest::Contains;

namespace {

Tensor labels(std::initializer_list<double> values) {
  return from_values({static_cast<std::int64_t>(values.size())}, values, {DType::i64, {}});
}

bool finite(const Tensor& x) {
  for (const double v : x.to_vector()) {
    if (!std::isfinite(v)) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("equal logits cost log K, smoothed or not") {
  const Tensor x = full({3, 5}, 7);
  CHECK(ops::cross_entropy(x, labels({0, 4, 2})).item() == Approx(std::log(5)));
  CHECK(ops::cross_entropy(x, labels({0, 4, 2}), 0.3).item() == Approx(std::log(5)));
}

TEST_CASE("smoothing is a soft target") {
  const Tensor x = rand_normal({2, 3}, {0, 2}, {1}, kF64);
  const double s = 0.3, off = s / 3, on = 1 - s + off;
  const Tensor targets = from_values({2, 3}, {off, on, off, on, off, off}, kF64);
  CHECK(ops::cross_entropy(x, labels({1, 0}), s).item() ==
        Approx(ops::soft_cross_entropy(x, targets).item()).epsilon(1e-12));
}

TEST_CASE("the loss is f32 for f32 and bf16 logits; gradients have the logits' dtype") {
  const Tensor values = rand_normal({7, 5}, {0, 1}, {1}).to(DType::bf16);
  const Tensor x = values.clone();
  x.set_requires_grad();
  const Tensor loss = ops::cross_entropy(x, labels({0, 1, 2, 3, 4, 0, 1}));
  CHECK(loss.dtype() == DType::f32);
  const double exact =
      ops::cross_entropy(values.to(DType::f64), labels({0, 1, 2, 3, 4, 0, 1})).item();
  CHECK(loss.item() == Approx(exact).epsilon(1e-6));  // not rounded to bf16 on the way
  backward(loss);
  CHECK(x.grad().dtype() == DType::bf16);
  CHECK(ops::mse(x, x.detach()).dtype() == DType::f32);
}

TEST_CASE("logits of 1e4 give exact losses and finite gradients") {
  const Tensor x = from_values({2, 3}, {1e4, -1e4, 1e4, -1e4, 1e4, 0});
  x.set_requires_grad();
  const Tensor hard = ops::cross_entropy(x, labels({0, 0}));
  CHECK(hard.item() == Approx((std::log(2) + 2e4) / 2));
  const Tensor soft = ops::soft_cross_entropy(x, full({2, 3}, 1.0 / 3));
  const Tensor binary = ops::bce_with_logits(x, from_values({2, 3}, {1, 0, 1, 0, 1, 0.5}));
  CHECK(binary.item() == Approx(std::log(2) / 6));
  const Tensor distilled = ops::soft_distillation(x, zeros({2, 3}), 2);
  for (const Tensor& loss : {hard, soft, binary, distilled}) {
    CHECK(std::isfinite(loss.item()));
    backward(loss);
  }
  CHECK(finite(x.grad()));
}

TEST_CASE("a class masked with -inf costs nothing unless it is the label") {
  const Tensor x = from_values({1, 3}, {1, -kInf, 1});
  x.set_requires_grad();
  const Tensor loss = ops::cross_entropy(x, labels({0}));
  CHECK(loss.item() == Approx(std::log(2)));
  backward(loss);
  CHECK(finite(x.grad()));
  CHECK(ops::soft_cross_entropy(x, from_values({1, 3}, {0.5, 0, 0.5})).item() ==
        Approx(std::log(2)));
  CHECK(ops::cross_entropy(x, labels({1})).item() == kInf);
}

TEST_CASE("NaN logits give a NaN loss") {
  const Tensor x = from_values({1, 2}, {std::nan(""), 0});
  CHECK(std::isnan(ops::cross_entropy(x, labels({1})).item()));
  CHECK(std::isnan(ops::bce_with_logits(x, zeros({1, 2})).item()));
  CHECK(std::isnan(ops::soft_distillation(zeros({1, 2}), x, 1).item()));
}

TEST_CASE("distillation from an equal teacher is zero; the two reductions differ by K") {
  const Tensor x = rand_normal({3, 5}, {0, 2}, {1}, kF64),
               t = rand_normal({3, 5}, {0, 2}, {2}, kF64);
  CHECK(ops::soft_distillation(x, x, 3).item() == 0);
  const double by_batch = ops::soft_distillation(x, t, 3, ops::KdReduction::batch).item();
  CHECK(by_batch == Approx(5 * ops::soft_distillation(x, t, 3).item()));
  const double kl = ops::kl_div(ops::log_softmax(x), ops::log_softmax(t)).item();
  CHECK(kl == Approx(ops::soft_distillation(x, t, 1, ops::KdReduction::batch).item()));
}

TEST_CASE("hard distillation is the cross entropy of the teacher's first maximum") {
  const Tensor x = rand_normal({2, 3}, {0, 1}, {1}), t = from_values({2, 3}, {0, 2, 2, 5, 1, 1});
  CHECK(ops::hard_distillation(x, t).item() == ops::cross_entropy(x, labels({1, 0})).item());
}

TEST_CASE("targets, teachers and weights that require a gradient are refused") {
  const Tensor x = rand_normal({2, 3}, {0, 1}, {1}).set_requires_grad();
  const Tensor t = rand_uniform({2, 3}, {0, 1}, {2}).set_requires_grad();
  const Tensor weights = ones({3}).set_requires_grad();
  using Loss = std::function<Tensor(const Tensor&)>;
  const auto weighted = [&](const Tensor& w) {
    return ops::weighted_cross_entropy(x, labels({0, 2}), w);
  };
  const std::vector<std::pair<Loss, Tensor>> losses = {
      {[&](const Tensor& u) { return ops::soft_cross_entropy(x, u); }, t},
      {[&](const Tensor& u) { return ops::mse(x, u); }, t},
      {[&](const Tensor& u) { return ops::l1(x, u); }, t},
      {[&](const Tensor& u) { return ops::bce_with_logits(x, u); }, t},
      {[&](const Tensor& u) { return ops::sigmoid_focal_loss(x, u, 0.25); }, t},
      {[&](const Tensor& u) { return ops::soft_distillation(x, u, 2); }, t},
      {[&](const Tensor& u) { return ops::kl_div(x, u); }, t},
      {weighted, weights}};
  for (const auto& [loss, target] : losses) {
    CHECK_THROWS_WITH_AS((void)loss(target), Contains("require a gradient, but this loss"), Error);
    CHECK_THROWS_WITH_AS((void)loss(target * 1.0), Contains("pass detach()"), Error);
    backward(loss(target.detach()));
    const NoGrad no_grad;
    CHECK(std::isfinite(loss(target).item()));
  }
  CHECK(x.grad().defined());
}

TEST_CASE("hard distillation takes labels, which have no gradient, from any teacher") {
  const Tensor x = rand_normal({2, 3}, {0, 1}, {1}).set_requires_grad();
  const Tensor t = rand_normal({2, 3}, {0, 1}, {2}).set_requires_grad();
  backward(ops::hard_distillation(x, t));
  CHECK_FALSE(t.grad().defined());
}

TEST_CASE("1 thread and 2 threads give the same bits") {
  const Tensor x = rand_normal({257, 131}, {0, 1}, {1}), t = rand_uniform({257, 131}, {0, 1}, {2});
  const auto losses = [&] {
    return std::vector<double>{ops::soft_cross_entropy(x, t).item(), ops::mse(x, t).item(),
                               ops::bce_with_logits(x, t).item(),
                               ops::soft_distillation(x, t, 2).item()};
  };
  const int before = num_threads();
  set_num_threads(1);
  const std::vector<double> one = losses();
  set_num_threads(2);
  const std::vector<double> two = losses();
  set_num_threads(before);
  CHECK(one == two);
}

TEST_CASE("errors of losses") {
  const Tensor x = zeros({3, 5});
  CHECK_THROWS_WITH_AS((void)ops::cross_entropy(x, labels({0, 17, 2})),
                       "cross_entropy: label 1 is 17, expected 0 to 4", Error);
  CHECK_THROWS_WITH_AS((void)ops::cross_entropy(x, labels({0, 1, -1})),
                       "cross_entropy: label 2 is -1, expected 0 to 4", Error);
  CHECK_THROWS_WITH_AS((void)ops::cross_entropy(x, labels({0, 1})),
                       Contains("got labels of shape [2] for logits [3, 5], expected [3]"), Error);
  CHECK_THROWS_WITH_AS((void)ops::cross_entropy(x, zeros({3})),
                       Contains("got labels of f32, expected i64"), Error);
  CHECK_THROWS_WITH_AS((void)ops::cross_entropy(zeros({3}), labels({0, 1, 2})),
                       "cross_entropy: got logits of shape [3], expected [B, K]", Error);
  CHECK_THROWS_WITH_AS((void)ops::mse(x, zeros({5, 3})),
                       "mse: got shapes [3, 5] and [5, 3], expected equal shapes", Error);
  CHECK_THROWS_WITH_AS((void)ops::soft_distillation(x, x, 0),
                       Contains("soft_distillation: got tau 0"), Error);
  CHECK_THROWS_WITH_AS((void)ops::cross_entropy(x, labels({0, 1, 2}), 1.5),
                       Contains("cross_entropy: got smoothing 1.5"), Error);
}

TEST_CASE("weighted cross-entropy is divided by the weights of the labels, not by the rows") {
  const Tensor x = rand_normal({3, 2}, {0, 2}, {4}, kF64),
               weights = from_values({2}, {1, 0.1}, kF64);
  const std::vector<double> p = ops::log_softmax(x).to_vector();
  const double expected = -(p[0] + 0.1 * p[3] + 0.1 * p[5]) / 1.2;
  CHECK(ops::weighted_cross_entropy(x, labels({0, 1, 1}), weights).item() ==
        Approx(expected).epsilon(1e-14));
  CHECK(ops::weighted_cross_entropy(x, labels({0, 1, 1}), ones({2}, kF64)).item() ==
        Approx(ops::cross_entropy(x, labels({0, 1, 1})).item()).epsilon(1e-14));
  CHECK_THROWS_WITH_AS((void)ops::weighted_cross_entropy(x, labels({0, 1, 2}), weights),
                       "weighted_cross_entropy: label 2 is 2, expected 0 to 1", Error);
  CHECK_THROWS_WITH_AS((void)ops::weighted_cross_entropy(x, labels({0, 1, 1}), ones({3}, kF64)),
                       Contains("expected [2]"), Error);
}

TEST_CASE("the focal loss of a known logit") {
  const double p = 1 / (1 + std::exp(-0.7));
  const auto focal = [](double target, double alpha) {
    return ops::sigmoid_focal_loss(full({1}, 0.7, kF64), full({1}, target, kF64), alpha).item();
  };
  CHECK(focal(1, 0.3) == Approx(-0.3 * (1 - p) * (1 - p) * std::log(p)).epsilon(1e-14));
  CHECK(focal(0, 0.3) == Approx(-0.7 * p * p * std::log(1 - p)).epsilon(1e-14));
  CHECK_THROWS_WITH_AS((void)focal(1, 1.5), Contains("expected 0 to 1"), Error);
}

TEST_CASE("the focal loss of a sure prediction vanishes, or is as large as its logit") {
  const Tensor x = from_values({2}, {200, -200}, kF64), targets = from_values({2}, {1, 1}, kF64);
  CHECK(ops::sigmoid_focal_loss(x, targets, 0.5).item() == Approx(0.5 * 200 / 2).epsilon(1e-14));
}

TEST_CASE("the mean absolute error") {
  const Tensor x = from_values({2, 2}, {1, 2, 3, 4});
  CHECK(ops::l1(x, from_values({2, 2}, {2, 2, 1, 8})).item() == Approx(7 / 4.0));
}
