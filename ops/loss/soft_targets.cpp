// Losses against a target distribution: given as probabilities, as a teacher's logits, or as
// log-probabilities. Value and derivative are computed from log-probabilities in f32, or f64 for
// f64 logits.
#include "engine/autograd.h"
#include "ops/arithmetic.h"
#include "ops/kernels.h"
#include "ops/loss.h"
#include "ops/loss/call.h"
#include "ops/loss/inputs.h"
#include "ops/softmax.h"

namespace fovea::ops {
namespace {

/// log p and the targets, [B, K], both of one wide dtype; see TargetLossCall.
struct Distributions {
  Tensor log_p, target;
  bool log_target = false;
};

TargetLossCall call_of(const Distributions& d) {
  const detail::RowSize size(d.log_p);
  return {.dtype = d.log_p.dtype(),
          .rows = size.rows,
          .width = size.width,
          .log_target = d.log_target,
          .log_p = d.log_p.raw(),
          .target = d.target.raw()};
}

/// factor / divisor times the sum over all rows.
Tensor value(const Distributions& d, double factor, double divisor) {
  const Tensor loss = empty({}, d.log_p.options());
  TargetLossCall call = call_of(d);
  const Tensor parts = detail::parts_of(d.log_p, call.rows);
  call.factor = factor;
  call.divisor = divisor;
  call.parts = reinterpret_cast<double*>(parts.raw());
  call.loss = loss.raw();
  kernels(loss.device()).loss.target_loss(call);
  return loss;
}

/// dy factor / divisor times d sum / d logits.
Tensor gradient(const Distributions& d, const Tensor& dy, double factor, double divisor) {
  const Tensor dx = empty(d.log_p.shape(), d.log_p.options());
  TargetLossCall call = call_of(d);
  call.factor = factor;
  call.divisor = divisor;
  call.dy = dy.raw();
  call.dx = dx.raw();
  kernels(dx.device()).loss.target_loss_grad(call);
  return dx;
}

}  // namespace

Tensor soft_cross_entropy(const Tensor& logits, const Tensor& targets) {
  const OpLabel op("soft_cross_entropy");
  detail::require_matrix(op, logits);
  detail::require_target(op, logits, targets);
  const Tensor log_p = log_softmax(detail::wide(logits));
  const Tensor target = detail::detached_contiguous(targets).to(log_p.dtype());
  const double B = static_cast<double>(logits.shape()[0]);
  return record(op, value({log_p, target}, 1, B), {logits}, {log_p, target},
                [B, dtype = logits.dtype()](const GradArgs& g) -> Grads {
                  return {gradient({g.saved[0], g.saved[1]}, g.dy, 1, B).to(dtype)};
                });
}

Tensor soft_distillation(const Tensor& student, const Tensor& teacher, double tau,
                         KdReduction reduction) {
  const OpLabel op(
      "soft_distillation",
      {{"tau", tau}, {"reduction", reduction == KdReduction::elements ? "elements" : "samples"}});
  detail::require_matrix(op, student);
  detail::require_same_shape(op, student, teacher);
  detail::require_constant(op, "teacher's logits", teacher);
  check(tau > 0, "soft_distillation: got tau ", tau, ", expected a positive temperature");
  const Tensor log_s = log_softmax(div(detail::wide(student), tau));
  const Tensor log_t = log_softmax(div(detail::wide(teacher).to(log_s.dtype()), tau));
  const double n = static_cast<double>(reduction == KdReduction::elements ? student.numel()
                                                                          : student.shape()[0]);
  return record(op, value({log_s, log_t, true}, tau * tau, n), {student}, {log_s, log_t},
                [tau, n, dtype = student.dtype()](const GradArgs& g) -> Grads {
                  const double factor = tau;  // tau^2, and d(s / tau) / ds
                  return {gradient({g.saved[0], g.saved[1], true}, g.dy, factor, n).to(dtype)};
                });
}

Tensor kl_div(const Tensor& log_q, const Tensor& log_p) {
  const OpLabel op("kl_div");
  detail::require_matrix(op, log_q);
  detail::require_same_shape(op, log_q, log_p);
  detail::require_constant(op, "log-probabilities of P", log_p);
  const Tensor q = detail::wide(log_q), p = detail::detached_contiguous(log_p).to(q.dtype());
  const double B = static_cast<double>(q.shape()[0]);
  return record(op, value({q, p, true}, 1, B), {log_q}, {p},
                [B, dtype = log_q.dtype()](const GradArgs& g) -> Grads {  // d log q = -p dy / B
                  const Tensor divisor = scalar(-B, {DType::f64, g.dy.device()});
                  const Tensor scale = div(g.dy.to(DType::f64), divisor).to(g.dy.dtype());
                  return {mul(exp(g.saved[0]), scale).to(dtype)};
                });
}

}  // namespace fovea::ops
