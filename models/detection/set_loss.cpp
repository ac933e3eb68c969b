// The set loss: matching on the host, then the three terms of each layer on the tape.
#include "models/detection/set_loss.h"

#include <algorithm>
#include <cmath>

#include "engine/autograd.h"
#include "engine/base/error.h"
#include "ops/arithmetic.h"
#include "ops/box.h"
#include "ops/index.h"
#include "ops/loss.h"
#include "ops/reduce.h"
#include "ops/view.h"

namespace fovea {
namespace {

using ImageTargets = std::vector<Objects>;
using LayerMatches = std::vector<std::vector<MatchedPair>>;  ///< by image

/// The predictions of one decoder layer: logits [B, Q, C], boxes [B, Q, 4].
struct Layer {
  Tensor logits, boxes;

  [[nodiscard]] std::int64_t images() const { return logits.size(0); }
  [[nodiscard]] std::int64_t queries() const { return logits.size(1); }
  [[nodiscard]] std::int64_t classes() const { return logits.size(2); }
};

void check_predictions(const Tensor& logits, const Tensor& boxes, const ImageTargets& targets) {
  check(logits.rank() == 4 && boxes.rank() == 4 && boxes.size(3) == 4 &&
            std::equal(logits.shape().begin(), logits.shape().end() - 1, boxes.shape().begin()),
        "set_loss: got logits ", logits.shape(), " and boxes ", boxes.shape(),
        ", expected [L, B, Q, C] and [L, B, Q, 4]");
  check(static_cast<std::int64_t>(targets.size()) == logits.size(1), "set_loss: got targets of ",
        targets.size(), " images for a batch of ", logits.size(1));
}

void check_objects(const Objects& objects, std::size_t image, std::int64_t classes) {
  check(objects.boxes.size() == 4 * objects.labels.size(), "set_loss: image ", image, " has ",
        objects.labels.size(), " labels and ", objects.boxes.size(),
        " coordinates, expected four per label");
  for (std::size_t i = 0; i < objects.labels.size(); ++i) {
    const std::int64_t label = objects.labels[i];
    check(label >= 0 && label < classes, "set_loss: object ", i, " of image ", image, " has class ",
          label, ", expected 0 to ", classes - 1);
    const double* const box = objects.boxes.data() + 4 * i;
    const bool is_finite = std::all_of(box, box + 4, [](double v) { return std::isfinite(v); });
    check(is_finite && box[2] > 0 && box[3] > 0, "set_loss: object ", i, " of image ", image,
          " has the box (", box[0], ", ", box[1], ", ", box[2], ", ", box[3],
          "), expected a finite centre and a positive size");
  }
}

void check_given(const Matches& given, const Tensor& logits, const ImageTargets& targets) {
  check(static_cast<std::int64_t>(given.size()) == logits.size(0), "set_loss: got matches of ",
        given.size(), " layers, expected ", logits.size(0));
  for (const LayerMatches& layer : given) {
    check(layer.size() == targets.size(), "set_loss: got matches of ", layer.size(),
          " images, expected ", targets.size());
    for (std::size_t image = 0; image < layer.size(); ++image) {
      for (const MatchedPair& pair : layer[image]) {
        const std::int64_t count = targets[image].count();
        check(pair.query >= 0 && pair.query < logits.size(2) && pair.target >= 0 &&
                  pair.target < count,
              "set_loss: got query ", pair.query, " matched to object ", pair.target,
              ", expected less than ", logits.size(2), " and ", count);
      }
    }
  }
}

LayerMatches match_layer(const Layer& layer, const ImageTargets& targets,
                         const SetLossOptions& options) {
  const Tensor logits = layer.logits.detach().to(Device{}),
               boxes = layer.boxes.detach().to(Device{});
  LayerMatches matches;
  for (std::size_t image = 0; image < targets.size(); ++image) {
    const auto at = static_cast<std::int64_t>(image);
    matches.push_back(match_objects({ops::select(logits, 0, at), ops::select(boxes, 0, at)},
                                    targets[image], options));
  }
  return matches;
}

/// Calls visit(row in [B Q], objects of the image, index of the object) for every pair.
template <class Visit>
void for_each_pair(const LayerMatches& matches, const ImageTargets& targets, std::int64_t queries,
                   const Visit& visit) {
  for (std::size_t image = 0; image < matches.size(); ++image) {
    for (const MatchedPair& pair : matches[image]) {
      visit(static_cast<std::int64_t>(image) * queries + pair.query, targets[image],
            static_cast<std::size_t>(pair.target));
    }
  }
}

/// Cross-entropy of all queries; those without an object have the last class.
Tensor softmax_loss(const Layer& layer, const LayerMatches& matches, const ImageTargets& targets,
                    double eos_coef, const SetLossDivisors* divisors) {
  const std::int64_t rows = layer.images() * layer.queries(), no_object = layer.classes() - 1;
  std::vector<double> labels(static_cast<std::size_t>(rows), static_cast<double>(no_object));
  for_each_pair(matches, targets, layer.queries(),
                [&](std::int64_t row, const Objects& objects, std::size_t i) {
                  labels[static_cast<std::size_t>(row)] = static_cast<double>(objects.labels[i]);
                });
  std::vector<double> weights(static_cast<std::size_t>(layer.classes()), 1.0);
  weights.back() = eos_coef;
  const Device device = layer.logits.device();
  const Tensor mean =
      ops::weighted_cross_entropy(ops::reshape(layer.logits, {rows, layer.classes()}),
                                  from_values({rows}, labels, {DType::i64, device}),
                                  from_values({layer.classes()}, weights, {DType::f64, device}));
  if (divisors == nullptr) return mean;
  double sum = 0;
  for (const double label : labels) sum += weights[static_cast<std::size_t>(label)];
  return mean * (sum / divisors->class_weights);
}

Tensor focal_loss(const Layer& layer, const LayerMatches& matches, const ImageTargets& targets,
                  double alpha) {
  std::vector<double> wanted(static_cast<std::size_t>(layer.logits.numel()), 0.0);
  for_each_pair(matches, targets, layer.queries(),
                [&](std::int64_t row, const Objects& objects, std::size_t i) {
                  wanted[static_cast<std::size_t>(row * layer.classes() + objects.labels[i])] = 1;
                });
  const Tensor target =
      from_values(layer.logits.shape(), wanted, {layer.logits.dtype(), layer.logits.device()});
  return static_cast<double>(layer.logits.numel()) *
         ops::sigmoid_focal_loss(layer.logits, target, alpha);
}

/// Sums over the pairs of a layer.
struct BoxSums {
  Tensor l1, giou;
};

BoxSums box_sums(const Layer& layer, const LayerMatches& matches, const ImageTargets& targets) {
  std::vector<double> rows, wanted;
  for_each_pair(matches, targets, layer.queries(),
                [&](std::int64_t row, const Objects& objects, std::size_t i) {
                  rows.push_back(static_cast<double>(row));
                  const double* const box = objects.boxes.data() + 4 * i;
                  wanted.insert(wanted.end(), box, box + 4);
                });
  const Tensor boxes = layer.boxes;
  if (rows.empty()) {  // a zero on the tape: parameters without a gradient would stop the training
    const Tensor zero = 0.0 * ops::sum(boxes);
    return {zero, zero};
  }
  const auto pairs = static_cast<std::int64_t>(rows.size());
  const Tensor own = ops::index_select(ops::reshape(boxes, {-1, 4}), 0,
                                       from_values({pairs}, rows, {DType::i64, boxes.device()}));
  const Tensor target = from_values({pairs, 4}, wanted, {boxes.dtype(), boxes.device()});
  const Tensor giou = ops::generalized_iou(ops::box_corners(own), ops::box_corners(target));
  return {static_cast<double>(own.numel()) * ops::l1(own, target), ops::sum(-giou + 1.0)};
}

/// Class, L1 and GIoU term of a layer, without their weights. n: objects of the batch.
std::vector<Tensor> layer_terms(const Layer& layer, const LayerMatches& matches,
                                const ImageTargets& targets, const SetLossOptions& options,
                                double n, const SetLossDivisors* divisors) {
  const BoxSums sums = box_sums(layer, matches, targets);
  const Tensor classes = options.class_loss == ClassLoss::softmax
                             ? softmax_loss(layer, matches, targets, options.eos_coef, divisors)
                             : focal_loss(layer, matches, targets, options.focal_alpha) / n;
  return {classes, sums.l1 / n, sums.giou / n};
}

}  // namespace

SetLoss set_loss(const Tensor& logits, const Tensor& boxes, const std::vector<Objects>& targets,
                 const SetLossOptions& options, const Matches* given,
                 const SetLossDivisors* divisors) {
  check_predictions(logits, boxes, targets);
  const bool has_no_object = options.class_loss == ClassLoss::softmax;
  std::int64_t objects = 0;
  for (std::size_t image = 0; image < targets.size(); ++image) {
    check_objects(targets[image], image, logits.size(3) - (has_no_object ? 1 : 0));
    objects += targets[image].count();
  }
  if (given != nullptr) check_given(*given, logits, targets);
  const double n = divisors != nullptr ? divisors->objects
                                       : static_cast<double>(std::max<std::int64_t>(1, objects));
  const Tensor wide_logits = logits.to(acc_dtype(logits.dtype()));
  const Tensor wide_boxes = boxes.to(acc_dtype(boxes.dtype()));
  SetLoss loss;
  std::vector<Tensor> terms;  // three per layer
  for (std::int64_t l = 0; l < logits.size(0); ++l) {
    const Layer layer{ops::select(wide_logits, 0, l), ops::select(wide_boxes, 0, l)};
    loss.matches.push_back(given != nullptr ? (*given)[static_cast<std::size_t>(l)]
                                            : match_layer(layer, targets, options));
    for (const Tensor& term :
         layer_terms(layer, loss.matches.back(), targets, options, n, divisors)) {
      terms.push_back(term);
    }
  }
  const Tensor parts = ops::reshape(ops::stack(terms, 0), {logits.size(0), 3});
  const Tensor weights =
      from_values({3}, {options.class_weight, options.box_weight, options.giou_weight},
                  {parts.dtype(), parts.device()});
  loss.total = ops::sum(parts * weights);
  loss.parts = parts.detach();
  return loss;
}

}  // namespace fovea
