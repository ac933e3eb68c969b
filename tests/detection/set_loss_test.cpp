// The set loss of detectors: its terms by hand, what is matched, invariance, and errors.
#include "models/detection/set_loss.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "engine/autograd.h"
#include "engine/random.h"
#include "ops/activation.h"
#include "ops/view.h"
#include "tests/support/errors.h"
#include "tests/support/f64.h"

namespace fovea {
namespace {

using doctest::Approx;
using tests::check_error;

struct Batch {
  Tensor logits, boxes;  ///< leaves: [L, B, Q, C], [L, B, Q, 4] before the sigmoid
  std::vector<Objects> targets;

  [[nodiscard]] SetLoss loss(const SetLossOptions& options, const Matches* given = nullptr) const {
    return set_loss(logits, ops::sigmoid(boxes), targets, options, given);
  }
};

/// Two layers, three images with 2, 0 and 1 objects, five queries, four logits.
Batch make_batch(std::uint64_t seed = 5) {
  Batch batch{rand_normal({2, 3, 5, 4}, {0, 1}, {seed, 1}, kF64),
              rand_normal({2, 3, 5, 4}, {0, 1}, {seed, 2}, kF64),
              {Objects{{2, 0}, {0.3, 0.4, 0.2, 0.3, 0.7, 0.6, 0.25, 0.5}}, Objects{},
               Objects{{1}, {0.5, 0.45, 0.6, 0.7}}}};
  batch.logits.set_requires_grad();
  batch.boxes.set_requires_grad();
  return batch;
}

const SetLossOptions kSoftmax{};
const SetLossOptions kFocal{.class_loss = ClassLoss::focal, .class_weight = 2};

/// Logits and boxes of one layer, image and query.
struct Query {
  std::vector<double> logits, box;

  Query(const Batch& batch, std::int64_t layer, std::int64_t image, std::int64_t query) {
    const auto row = [&](const Tensor& x) {
      return ops::select(ops::select(ops::select(x, 0, layer), 0, image), 0, query).to_vector();
    };
    logits = row(batch.logits.detach());
    box = row(ops::sigmoid(batch.boxes.detach()));
  }

  [[nodiscard]] double log_p(std::size_t label) const {
    double sum = 0;
    for (const double x : logits) sum += std::exp(x);
    return logits[label] - std::log(sum);
  }
};

}  // namespace

TEST_CASE("the class term weighs every query, and is divided by the weights") {
  const Batch batch = make_batch();
  const SetLoss loss = batch.loss(kSoftmax);
  for (std::int64_t l = 0; l < 2; ++l) {
    double sum = 0, weights = 0;
    for (std::int64_t b = 0; b < 3; ++b) {
      std::vector<std::size_t> labels(5, 3);  // the last class: no object
      for (const MatchedPair& pair :
           loss.matches[static_cast<std::size_t>(l)][static_cast<std::size_t>(b)]) {
        labels[static_cast<std::size_t>(pair.query)] =
            static_cast<std::size_t>(batch.targets[static_cast<std::size_t>(b)]
                                         .labels[static_cast<std::size_t>(pair.target)]);
      }
      for (std::int64_t q = 0; q < 5; ++q) {
        const std::size_t label = labels[static_cast<std::size_t>(q)];
        const double weight = label == 3 ? 0.1 : 1;
        sum -= weight * Query(batch, l, b, q).log_p(label);
        weights += weight;
      }
    }
    CHECK(loss.parts.at(3 * l) == Approx(sum / weights).epsilon(1e-12));
  }
}

TEST_CASE("L1 and GIoU terms are sums over the pairs of all images, over the number of objects") {
  const Batch batch = make_batch();
  for (const SetLossOptions& options : {kSoftmax, kFocal}) {
    const SetLoss loss = batch.loss(options);
    for (std::int64_t l = 0; l < 2; ++l) {
      double l1 = 0;
      for (std::int64_t b = 0; b < 3; ++b) {
        const Objects& objects = batch.targets[static_cast<std::size_t>(b)];
        const auto& pairs = loss.matches[static_cast<std::size_t>(l)][static_cast<std::size_t>(b)];
        CHECK(pairs.size() == objects.labels.size());
        for (const MatchedPair& pair : pairs) {
          const std::vector<double> box = Query(batch, l, b, pair.query).box;
          for (std::size_t i = 0; i < 4; ++i) {
            l1 += std::abs(box[i] - objects.boxes[4 * static_cast<std::size_t>(pair.target) + i]);
          }
        }
      }
      CHECK(loss.parts.at(3 * l + 1) == Approx(l1 / 3).epsilon(1e-12));
    }
  }
}

TEST_CASE("boxes that meet their objects cost nothing but their class") {
  const Objects objects{{0, 1}, {0.3, 0.4, 0.2, 0.3, 0.7, 0.6, 0.25, 0.5}};
  const Tensor boxes = from_values(
      {1, 1, 3, 4}, {0.7, 0.6, 0.25, 0.5, 0.1, 0.1, 0.1, 0.1, 0.3, 0.4, 0.2, 0.3}, kF64);
  const SetLoss loss = set_loss(zeros({1, 1, 3, 3}, kF64), boxes, {objects}, kSoftmax);
  CHECK(loss.matches[0][0] == std::vector<MatchedPair>{{0, 1}, {2, 0}});
  CHECK(loss.parts.at(0) == Approx(std::log(3.0)).epsilon(1e-12));
  CHECK(loss.parts.at(1) == Approx(0).epsilon(1e-12));
  CHECK(std::abs(loss.parts.at(2)) < 1e-12);
}

TEST_CASE("boxes apart from their object cost more than 1, by the hull around both") {
  const Objects object{{0}, {0.25, 0.5, 0.1, 0.1}};
  const auto giou_at = [&](double cx) {
    const Tensor boxes = from_values({1, 1, 1, 4}, {cx, 0.5, 0.1, 0.1}, kF64);
    return set_loss(zeros({1, 1, 1, 2}, kF64), boxes, {object}, kSoftmax).parts.at(2);
  };
  CHECK(giou_at(0.45) == Approx(1 + 1 / 3.0).epsilon(1e-12));
  CHECK(giou_at(0.75) == Approx(1 + 2 / 3.0).epsilon(1e-12));
}

TEST_CASE("the total weighs the parts of all layers") {
  const Batch batch = make_batch();
  for (const SetLossOptions& options : {kSoftmax, kFocal}) {
    const SetLoss loss = batch.loss(options);
    const std::vector<double> p = loss.parts.to_vector();
    const double expected =
        options.class_weight * (p[0] + p[3]) + 5 * (p[1] + p[4]) + 2 * (p[2] + p[5]);
    CHECK(loss.total.item() == Approx(expected).epsilon(1e-12));
  }
}

TEST_CASE("every layer is matched by its own predictions") {
  const Objects object{{0}, {0.5, 0.5, 0.4, 0.4}};
  // Layer 0: query 1 has the box; layer 1: query 0.
  const Tensor boxes = from_values(
      {2, 1, 2, 4},
      {0.1, 0.1, 0.1, 0.1, 0.5, 0.5, 0.4, 0.4, 0.5, 0.5, 0.4, 0.4, 0.1, 0.1, 0.1, 0.1}, kF64);
  const SetLoss loss = set_loss(zeros({2, 1, 2, 2}, kF64), boxes, {object}, kSoftmax);
  CHECK(loss.matches[0][0] == std::vector<MatchedPair>{{1, 0}});
  CHECK(loss.matches[1][0] == std::vector<MatchedPair>{{0, 0}});
}

TEST_CASE("the loss and its gradients do not depend on the order of the objects") {
  Batch batch = make_batch(), turned = make_batch();
  Objects& objects = turned.targets[0];
  std::swap(objects.labels[0], objects.labels[1]);
  std::swap_ranges(objects.boxes.begin(), objects.boxes.begin() + 4, objects.boxes.begin() + 4);
  for (const SetLossOptions& options : {kSoftmax, kFocal}) {
    const SetLoss a = batch.loss(options), b = turned.loss(options);
    CHECK(a.total.item() == Approx(b.total.item()).epsilon(1e-14));
    for (std::size_t l = 0; l < 2; ++l) {
      for (std::size_t i = 0; i < 2; ++i) {
        CHECK(a.matches[l][0][i].query == b.matches[l][0][i].query);
        CHECK(a.matches[l][0][i].target == 1 - b.matches[l][0][i].target);
      }
    }
    backward(a.total);
    backward(b.total);
    const std::vector<double> x = batch.logits.grad().to_vector(),
                              y = turned.logits.grad().to_vector();
    for (std::size_t i = 0; i < x.size(); ++i) CHECK(x[i] == Approx(y[i]).epsilon(1e-12));
  }
}

TEST_CASE("given pairs replace the matching") {
  const Batch batch = make_batch();
  Matches given = batch.loss(kFocal).matches;
  const double matched = batch.loss(kFocal).total.item();
  CHECK(batch.loss(kFocal, &given).total.item() == matched);
  std::swap(given[1][0][0].target, given[1][0][1].target);
  CHECK(batch.loss(kFocal, &given).total.item() > matched);
}

TEST_CASE("a batch without objects trains the classes, and boxes have a gradient of zero") {
  for (const SetLossOptions& options : {kSoftmax, kFocal}) {
    Batch batch = make_batch();
    batch.targets = {Objects{}, Objects{}, Objects{}};
    const SetLoss loss = batch.loss(options);
    CHECK(loss.parts.at(0) > 0);
    CHECK(loss.parts.at(1) == 0);
    CHECK(loss.parts.at(2) == 0);
    backward(loss.total);
    CHECK(batch.boxes.grad().to_vector() == std::vector<double>(120, 0.0));
  }
}

TEST_CASE("more objects than queries: each query has one, and the rest count in the divisor") {
  Batch batch = make_batch();
  Objects crowd;
  for (int i = 0; i < 9; ++i) {
    crowd.labels.push_back(i % 3);
    crowd.boxes.insert(crowd.boxes.end(), {0.1 + 0.08 * i, 0.5, 0.1, 0.2});
  }
  batch.targets = {crowd, Objects{}, Objects{}};
  const SetLoss loss = batch.loss(kSoftmax);
  CHECK(loss.matches[0][0].size() == 5);
  double l1 = 0;
  for (const MatchedPair& pair : loss.matches[0][0]) {
    const std::vector<double> box = Query(batch, 0, 0, pair.query).box;
    for (std::size_t i = 0; i < 4; ++i) {
      l1 += std::abs(box[i] - crowd.boxes[4 * static_cast<std::size_t>(pair.target) + i]);
    }
  }
  CHECK(loss.parts.at(1) == Approx(l1 / 9).epsilon(1e-12));
}

TEST_CASE("a prediction that is not finite gives a loss that is not finite, not an error") {
  Batch batch = make_batch();
  batch.logits.detach().data<double>()[0] = NAN;
  CHECK(std::isnan(batch.loss(kSoftmax).total.item()));
  CHECK(std::isnan(batch.loss(kFocal).total.item()));
}

TEST_CASE("bf16 predictions give an f32 loss") {
  const Batch batch = make_batch();
  const SetLoss loss = set_loss(batch.logits.to(DType::bf16),
                                ops::sigmoid(batch.boxes).to(DType::bf16), batch.targets, kFocal);
  CHECK(loss.total.dtype() == DType::f32);
  CHECK(loss.total.item() == Approx(batch.loss(kFocal).total.item()).epsilon(1e-2));
}

TEST_CASE("objects that cannot be learned are errors, which name them") {
  const auto loss_of = [](const Objects& objects, const SetLossOptions& options) {
    Batch batch = make_batch();
    batch.targets[1] = objects;
    (void)batch.loss(options);
  };
  const std::vector<double> box{0.5, 0.5, 0.2, 0.2};
  check_error([&] { loss_of({{3}, box}, kSoftmax); }, "image 1 has class 3, expected 0 to 2");
  loss_of({{3}, box}, kFocal);  // without "no object" there is one class more
  check_error([&] { loss_of({{4}, box}, kFocal); }, "image 1 has class 4, expected 0 to 3");
  check_error([&] { loss_of({{-1}, box}, kFocal); }, "has class -1");
  check_error([&] { loss_of({{1}, {0.5, 0.5, 0, 0.2}}, kFocal); }, "positive size");
  check_error([&] { loss_of({{1}, {0.5, NAN, 0.2, 0.2}}, kFocal); }, "finite centre");
  check_error([&] { loss_of({{1, 2}, box}, kFocal); }, "expected four per label");
  const Batch batch = make_batch();
  check_error([&] { (void)set_loss(batch.logits, batch.boxes, {Objects{}}, kFocal); },
              "targets of 1 images for a batch of 3");
  const Matches wrong(2, {{{7, 0}}, {}, {}});
  check_error([&] { (void)batch.loss(kFocal, &wrong); }, "query 7 matched to object 0");
}

}  // namespace fovea
