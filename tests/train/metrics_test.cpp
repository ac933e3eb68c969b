// Counting hits, and the weighting by samples.
#include "train/tasks/metrics.h"

#include <doctest/doctest.h>

#include <cmath>

#include "engine/base/error.h"
#include "train/tasks/classifier_evaluation.h"

namespace fovea {
namespace {

Tensor labels(std::initializer_list<double> values) {
  return from_values({static_cast<std::int64_t>(values.size())}, values, {DType::i64, {}});
}

}  // namespace

TEST_CASE("ranks: how many classes come before the label") {
  const Tensor logits = from_values({3, 3}, {0, 2, 1, 5, 4, 3, -1, -3, -2});
  CHECK(label_ranks(logits, labels({2, 0, 1})) == std::vector<std::int64_t>{1, 0, 2});
}

TEST_CASE("of equal logits the lower class comes first, and a NaN is never a hit") {
  const double nan = std::nan("");
  const Tensor logits = from_values({4, 3}, {1, 1, 1, 1, 1, 1, 9, nan, 0, nan, nan, nan});
  CHECK(label_ranks(logits, labels({0, 2, 0, 1})) == std::vector<std::int64_t>{0, 2, 3, 3});
}

TEST_CASE("bf16 logits are counted too") {
  const Tensor logits = from_values({1, 2}, {1, 2}, {DType::bf16, {}});
  CHECK(label_ranks(logits, labels({1})) == std::vector<std::int64_t>{0});
}

TEST_CASE("metrics weigh by samples, not by batches") {
  Metrics metrics;
  metrics.add_loss(1.0, 3);
  metrics.add_loss(5.0, 1);
  CHECK(metrics.loss() == doctest::Approx(2.0).epsilon(1e-15));
  const Tensor logits = from_values({2, 7}, {6, 5, 4, 3, 2, 1, 0, 6, 5, 4, 3, 2, 1, 0});
  add_hits(metrics, logits, labels({4, 5}));  // the fifth and the sixth place
  add_hits(metrics, logits, labels({0, 1}));
  CHECK(metrics.correct1 == 1);
  CHECK(metrics.correct5 == 3);
  CHECK(metrics.top1() == 25);
  CHECK(metrics.top5() == 75);
  CHECK(Metrics{}.loss() == 0);
}

TEST_CASE("predictions are each row's first maximum with its probability") {
  std::vector<Prediction> predictions;
  const Tensor logits = from_values({3, 3}, {0, 2, 2, 5, 4, 3, 0, 0, 1});
  add_predictions(predictions, logits, labels({2, 0, 0}), labels({7, 8, 9}));
  REQUIRE(predictions.size() == 3);
  CHECK(predictions[0].index == 7);
  CHECK(predictions[0].prediction == 1);
  CHECK(predictions[0].confidence == doctest::Approx(1 / (2 + std::exp(-2))).epsilon(1e-12));
  CHECK_FALSE(predictions[0].is_right());
  CHECK(predictions[1].is_right());
  CHECK(predictions[2].prediction == 2);
}

TEST_CASE("labels and shapes that do not fit are refused") {
  const Tensor logits = zeros({2, 3});
  std::vector<Prediction> predictions;
  CHECK_THROWS_WITH_AS(static_cast<void>(label_ranks(logits, labels({0, 3}))),
                       doctest::Contains("got label 3, expected 0 to 2"), Error);
  CHECK_THROWS_AS(static_cast<void>(label_ranks(logits, labels({0}))), Error);
  CHECK_THROWS_AS(add_predictions(predictions, logits, labels({0, -1}), labels({0, 1})), Error);
  CHECK_THROWS_AS(add_predictions(predictions, logits, labels({0, 1}), labels({0})), Error);
}

}  // namespace fovea
