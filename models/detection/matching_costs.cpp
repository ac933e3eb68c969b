// Matching costs, computed off the tape in f64.
#include "models/detection/matching_costs.h"

#include <algorithm>
#include <cmath>

#include "engine/autograd.h"
#include "ops/activation.h"
#include "ops/arithmetic.h"
#include "ops/box.h"
#include "ops/index.h"
#include "ops/reduce.h"
#include "ops/softmax.h"
#include "ops/view.h"

namespace fovea {
namespace {

Tensor labels_of(const Objects& objects) {
  const std::vector<double> labels(objects.labels.begin(), objects.labels.end());
  return from_values({objects.count()}, labels, {DType::i64, {}});
}

/// -log(p + 1e-8).
Tensor cross_entropy_of(const Tensor& p) { return -ops::log(p + 1e-8); }

Tensor focal_cost(const Tensor& p) {
  constexpr double kAlpha = 0.25;  // whatever the loss has
  const Tensor q = -p + 1.0;
  return kAlpha * (q * q * cross_entropy_of(p)) - (1 - kAlpha) * (p * p * cross_entropy_of(q));
}

Tensor class_cost(const Tensor& logits, const Tensor& labels, ClassLoss class_loss) {
  if (class_loss == ClassLoss::softmax) {
    return -ops::index_select(ops::softmax(logits), 1, labels);
  }
  return focal_cost(ops::sigmoid(ops::index_select(logits, 1, labels)));
}

/// min(Q, T) pairs (i, i).
std::vector<MatchedPair> pairs_in_order(std::int64_t queries, std::int64_t targets) {
  std::vector<MatchedPair> pairs;
  for (std::int64_t i = 0; i < std::min(queries, targets); ++i) pairs.push_back({i, i});
  return pairs;
}

}  // namespace

Tensor Objects::box_tensor() const { return from_values({count(), 4}, boxes, {DType::f64, {}}); }

MatchingCosts matching_costs(const Predictions& predictions, const Objects& objects,
                             ClassLoss class_loss) {
  const NoGrad off_the_tape;
  const Tensor logits = predictions.logits.to(DType::f64), boxes = predictions.boxes.to(DType::f64);
  const std::int64_t queries = boxes.size(0), count = objects.count();
  const Shape pairs{queries, count, 4};
  const Tensor each_box = ops::expand(ops::unsqueeze(boxes, 1), pairs);
  const Tensor each_object = ops::expand(ops::unsqueeze(objects.box_tensor(), 0), pairs);
  const auto corners = [&](const Tensor& all) {
    return ops::reshape(ops::box_corners(all), {queries * count, 4});
  };
  return {class_cost(logits, labels_of(objects), class_loss),
          ops::sum(ops::abs(each_box - each_object), {2}),
          ops::reshape(ops::generalized_iou(corners(each_box), corners(each_object)),
                       {queries, count})};
}

std::vector<MatchedPair> match_objects(const Predictions& predictions, const Objects& objects,
                                       const SetLossOptions& options) {
  if (objects.count() == 0) return {};
  const NoGrad off_the_tape;
  const MatchingCosts costs = matching_costs(predictions, objects, options.class_loss);
  const Tensor total = options.class_weight * costs.classes + options.box_weight * costs.l1 -
                       options.giou_weight * costs.giou;
  const std::vector<double> cost = total.to_vector();
  const std::int64_t queries = total.size(0), targets = total.size(1);
  if (!std::all_of(cost.begin(), cost.end(), [](double c) { return std::isfinite(c); })) {
    return pairs_in_order(queries, targets);
  }
  return match(cost, queries, targets);
}

}  // namespace fovea
