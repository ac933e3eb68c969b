// Classification losses composed of ops, computed at least in f32.
#include "train/tasks/class_losses.h"

#include "engine/base/error.h"
#include "ops/activation.h"
#include "ops/arithmetic.h"
#include "ops/index.h"
#include "ops/loss.h"
#include "ops/reduce.h"
#include "ops/softmax.h"
#include "ops/view.h"

namespace fovea {
namespace {

/// Converts logits to at least f32.
Tensor widened(const Tensor& logits) {
  return logits.dtype() == DType::f64 ? logits : logits.to(DType::f32);
}

/// Smoothed targets [B, K]: 1 - s + s / K for the label, s / K elsewhere.
Tensor smooth_targets(const Tensor& labels, std::int64_t classes, double smoothing) {
  const double off = smoothing / static_cast<double>(classes);
  return ops::one_hot(labels, classes, DType::f64) * (1 - smoothing) + off;
}

}  // namespace

Tensor bce_loss(const Tensor& logits, const Targets& targets, double smoothing,
                const BceOptions& options) {
  const std::int64_t classes = logits.size(1);
  const Tensor z = widened(logits);
  Tensor wanted =
      targets.soft.defined() ? targets.soft : smooth_targets(targets.labels, classes, smoothing);
  wanted = wanted.to(z.dtype());
  if (options.threshold) {
    wanted = ops::greater(wanted, full({1}, *options.threshold, z.options())).to(z.dtype());
  }
  Tensor mean;
  if (options.pos_weight || options.class_weights.defined()) {
    // -w t log sigmoid(z) - (1 - t) log(1 - sigmoid(z))
    Tensor terms = wanted * ops::logsigmoid(z) * options.pos_weight.value_or(1) +
                   (wanted * -1.0 + 1.0) * ops::logsigmoid(-z);
    if (options.class_weights.defined()) terms = terms * options.class_weights.to(z.dtype());
    mean = -ops::mean(terms);
  } else {
    mean = ops::bce_with_logits(z, wanted);
  }
  return options.sum_classes ? mean * static_cast<double>(classes) : mean;
}

Tensor weighted_targets(const Targets& targets, double smoothing, const Tensor& weights) {
  const Tensor wanted = targets.soft.defined()
                            ? targets.soft
                            : smooth_targets(targets.labels, weights.size(0), smoothing);
  return wanted * weights.to(wanted.dtype());
}

Tensor weighted_class_loss(const Tensor& logits, const Tensor& weighted,
                           std::optional<double> whole) {
  const Tensor z = widened(logits), t = weighted.to(z.dtype());
  const Tensor sum = -ops::sum(t * ops::log_softmax(z));
  return whole ? sum / *whole : sum / ops::sum(t);
}

Tensor jsd_loss(const Tensor& logits, const Tensor& labels, double smoothing,
                const JsdOptions& options) {
  const std::int64_t rows = logits.size(0), classes = logits.size(1), splits = options.splits;
  check(splits >= 2 && rows % splits == 0, "jsd_loss: got ", rows, " rows in splits of ", splits,
        ", expected a multiple of at least 2");
  const Shape shape{rows / splits, splits, classes};
  const Tensor z = ops::reshape(widened(logits), shape);
  const Tensor first = ops::select(ops::reshape(labels, {rows / splits, splits}), 1, 0);
  const Tensor log_p = ops::log_softmax(z), p = ops::softmax(z);
  const Tensor mixture = ops::clamp(ops::mean(p, {1}, true), 1e-7, 1);
  const Tensor divergence = ops::sum(p * (log_p - ops::log(mixture)));
  return ops::cross_entropy(ops::select(z, 1, 0), first, smoothing) +
         divergence * (options.alpha / static_cast<double>(rows));
}

}  // namespace fovea
