// Rows of the gradient table for losses.
#include "ops/loss.h"

#include "ops/arithmetic.h"
#include "ops/softmax.h"
#include "tests/support/op_case.h"

namespace fovea::tests {
namespace {

using X = const std::vector<Tensor>&;

In labels(std::vector<double> values) {
  const Shape shape{static_cast<std::int64_t>(values.size())};
  return In{shape, std::move(values)}.with_dtype(DType::i64);
}
In constants(const Shape& shape, double lo, double hi) { return In{shape, lo, hi}.no_grad(); }

/// Rows with a single winner, so far ahead that a step of the central difference changes nothing.
/// Large values everywhere, because such steps are relative and the loss, too, is large.
In extreme() {
  return {{3, 5}, {1e4, -1e4, 2e3, 1e3, 5e3, -1e4, 1e4, -1e4, 5e3, -1e4, -1e4, 3e3, 2e3, 1e4, 6e3}};
}

Tensor hard(X x) { return ops::cross_entropy(x[0], x[1]); }
Tensor smoothed(X x) { return ops::cross_entropy(x[0], x[1], 0.1); }

OpCases classification_cases() {
  return {
      {"cross_entropy", "hard", {{5, 7}, labels({0, 6, 3, 3, 1})}, hard},
      {"cross_entropy", "smoothed", {{5, 7}, labels({0, 6, 3, 3, 1})}, smoothed},
      {"cross_entropy", "one class", {{3, 1}, labels({0, 0, 0})}, hard, /*low_precision=*/false},
      {"cross_entropy", "extreme logits, hard", {extreme(), labels({0, 2, 3})}, hard},
      {"cross_entropy", "extreme logits, smoothed", {extreme(), labels({0, 4, 0})}, smoothed},
      {"cross_entropy",
       "scaled upstream",
       {{3, 5}, labels({4, 0, 2})},
       [](X x) { return ops::cross_entropy(x[0], x[1], 0.2) * ops::cross_entropy(x[0], x[1]); }},
      {"soft_cross_entropy",
       "mixed labels",
       {{5, 7}, constants({5, 7}, 0, 1)},
       [](X x) { return ops::soft_cross_entropy(x[0], x[1]); }},
      {"soft_cross_entropy",
       "extreme logits",
       {extreme(), constants({3, 5}, 0, 0.4)},
       [](X x) { return ops::soft_cross_entropy(x[0], x[1]); }},
      {"bce_with_logits",
       "matrix",
       {{5, 7}, constants({5, 7}, 0, 1)},
       [](X x) { return ops::bce_with_logits(x[0], x[1]); }},
      {"bce_with_logits",
       "extreme logits",
       {In{{2, 2}, {1e4, -1e4, 1e3, -1e3}}, constants({2, 2}, 0, 1)},
       [](X x) { return ops::bce_with_logits(x[0], x[1]); }},
  };
}

OpCases regression_cases() {
  const auto mse = [](X x) { return ops::mse(x[0], x[1]); };
  return {
      {"mse", "three axes", {{2, 3, 5}, constants({2, 3, 5}, -1, 1)}, mse},
      {"mse",
       "repeated input",
       {{3, 5}, constants({3, 5}, -1, 1)},
       [](X x) { return ops::mse(x[0] * x[0], x[1]); }},
      {"mse", "scalar", {Shape{}, constants(Shape{}, 2, 3)}, mse},
      {"abs",
       "mean absolute error",
       {{2, 3, 5}, constants({2, 3, 5}, -1, 1)},
       [](X x) { return ops::l1(x[0], x[1]); }},
  };
}

OpCases detection_cases() {
  const TensorFn weighted = [](X x) { return ops::weighted_cross_entropy(x[0], x[1], x[2]); };
  const TensorFn focal = [](X x) { return ops::sigmoid_focal_loss(x[0], x[1], 0.25); };
  const In ones_and_zeros = In{{2, 5}, {0, 1, 0, 0, 1, 1, 0, 0, 0, 0}}.no_grad();
  return {
      {"gather",
       "weighted cross-entropy",
       {{5, 3}, labels({0, 2, 2, 1, 2}), In{{3}, {1, 0.7, 0.1}}.no_grad()},
       weighted},
      {"gather",
       "weighted cross-entropy, extreme logits",
       {extreme(), labels({0, 2, 3}), constants({5}, 0.1, 1)},
       weighted},
      {"softplus", "sigmoid focal loss", {{2, 5}, ones_and_zeros}, focal},
      {"softplus",
       "sigmoid focal loss, large logits",
       {In{{2, 5}, -30, 30}, ones_and_zeros},
       focal},
      {"softplus",
       "sigmoid focal loss, extreme logits",
       {In{{2, 2}, {1e4, -1e4, 1e3, -1e3}}, In{{2, 2}, {1, 1, 0, 0}}.no_grad()},
       [](X x) { return ops::sigmoid_focal_loss(x[0], x[1], 0.4); }},
  };
}

OpCases distillation_cases() {
  return {
      {"soft_distillation",
       "over elements",
       {{5, 7}, constants({5, 7}, -2, 2)},
       [](X x) { return ops::soft_distillation(x[0], x[1], 2.5); }},
      {"soft_distillation",
       "over the batch, tau 1",
       {{5, 7}, constants({5, 7}, -2, 2)},
       [](X x) { return ops::soft_distillation(x[0], x[1], 1, ops::KdReduction::batch); }},
      {"soft_distillation",
       "extreme logits",
       {extreme(), constants({3, 5}, -2, 2)},
       [](X x) { return ops::soft_distillation(x[0], x[1], 3); }},
      {"cross_entropy",
       "hard distillation",
       {{5, 7}, constants({5, 7}, -2, 2)},
       [](X x) { return ops::hard_distillation(x[0], x[1]); }},
      {"kl_div",
       "any values",
       {{5, 7}, constants({5, 7}, -3, 0)},
       [](X x) { return ops::kl_div(x[0], x[1]); }},
      {"kl_div",
       "log-probabilities",
       {{3, 5}, constants({3, 5}, -1, 1)},
       [](X x) { return ops::kl_div(ops::log_softmax(x[0]), ops::log_softmax(x[1])); }},
  };
}

}  // namespace

OpCases loss_cases() {
  OpCases all;
  for (const OpCases& family :
       {classification_cases(), regression_cases(), detection_cases(), distillation_cases()}) {
    all.insert(all.end(), family.begin(), family.end());
  }
  return all;
}

}  // namespace fovea::tests
