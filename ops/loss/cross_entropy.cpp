// Cross-entropy with labels, and with a teacher's predicted labels. Value and derivative are
// computed from log-probabilities in f32, or f64 for f64 logits.
#include "engine/autograd.h"
#include "ops/arithmetic.h"
#include "ops/index.h"
#include "ops/index/outside.h"
#include "ops/kernels.h"
#include "ops/loss.h"
#include "ops/loss/call.h"
#include "ops/loss/inputs.h"
#include "ops/order.h"
#include "ops/reduce.h"
#include "ops/softmax.h"
#include "ops/view.h"

namespace fovea::ops {
namespace {

const std::int64_t* labels_of(const Tensor& labels) {
  return reinterpret_cast<const std::int64_t*>(labels.raw());
}

/// Checks packed labels.
void require_labels(const char* op, const Tensor& logits, const Tensor& labels) {
  detail::require_one_device(op, {logits, labels});
  check(labels.dtype() == DType::i64, op, ": got labels of ", labels.dtype(),
        ", expected i64; use soft_cross_entropy for probabilities");
  const std::int64_t B = logits.shape()[0], K = logits.shape()[1];
  check(labels.shape() == Shape{B}, op, ": got labels of shape ", labels.shape(), " for logits ",
        logits.shape(), ", expected [", B, "]");
  const detail::Outside wrong = detail::first_outside(op, labels, {0, K});
  check(!wrong, op, ": label ", wrong.position, " is ", wrong.value, ", expected 0 to ", K - 1);
}

LabelLossCall call_of(const Tensor& log_p, const Tensor& labels, double smoothing) {
  const detail::RowSize size(log_p);
  return {.dtype = log_p.dtype(),
          .rows = size.rows,
          .width = size.width,
          .smoothing = smoothing,
          .log_p = log_p.raw(),
          .labels = labels_of(labels)};
}

Tensor value(const Tensor& log_p, const Tensor& labels, double smoothing) {
  const Tensor loss = empty({}, log_p.options());
  LabelLossCall call = call_of(log_p, labels, smoothing);
  const Tensor parts = detail::parts_of(log_p, call.rows);
  call.parts = reinterpret_cast<double*>(parts.raw());
  call.loss = loss.raw();
  kernels(loss.device()).loss.label_loss(call);
  return loss;
}

}  // namespace

Tensor cross_entropy(const Tensor& logits, const Tensor& labels, double smoothing) {
  const OpLabel op("cross_entropy", {{"smoothing", smoothing}});
  detail::require_matrix(op, logits);
  check(smoothing >= 0 && smoothing <= 1, "cross_entropy: got smoothing ", smoothing,
        ", expected 0 to 1");
  const Tensor label = detail::detached_contiguous(labels);
  require_labels(op.name(), logits, label);
  const Tensor log_p = log_softmax(detail::wide(logits));
  return record(op, value(log_p, label, smoothing), {logits}, {log_p, label},
                [smoothing, dtype = logits.dtype()](const GradArgs& g) -> Grads {
                  const Tensor dx = empty(g.saved[0].shape(), g.saved[0].options());
                  LabelLossCall call = call_of(g.saved[0], g.saved[1], smoothing);
                  call.dy = g.dy.raw();
                  call.dx = dx.raw();
                  kernels(dx.device()).loss.label_loss_grad(call);
                  return {dx.to(dtype)};
                });
}

Tensor weighted_cross_entropy(const Tensor& logits, const Tensor& labels, const Tensor& weights) {
  const char* const op = "weighted_cross_entropy";
  detail::require_matrix(op, logits);
  detail::require_one_device(op, {logits, weights});
  check(weights.shape() == Shape{logits.size(1)}, op, ": got weights of shape ", weights.shape(),
        " for logits ", logits.shape(), ", expected [", logits.size(1), "]");
  detail::require_constant(op, "weights", weights);
  require_labels(op, logits, detail::detached_contiguous(labels));
  const DType wide = acc_dtype(logits.dtype());
  const Tensor log_p = gather(log_softmax(logits.to(wide)), 1, unsqueeze(labels, 1));
  const Tensor own = index_select(weights.detach().to(wide), 0, labels);
  return -sum(squeeze(log_p, 1) * own) / sum(own);
}

Tensor hard_distillation(const Tensor& student, const Tensor& teacher) {
  detail::require_matrix("hard_distillation", student);
  detail::require_same_shape("hard_distillation", student, teacher);
  return cross_entropy(student, argmax(teacher, -1));
}

}  // namespace fovea::ops
