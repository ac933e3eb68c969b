// Losses that are means over all elements, computed in f32, or f64 for f64 x. Those of detectors
// are small and made of elementwise ops; the others have kernels.
#include "engine/autograd.h"
#include "ops/activation.h"
#include "ops/arithmetic.h"
#include "ops/kernels.h"
#include "ops/loss.h"
#include "ops/loss/call.h"
#include "ops/loss/inputs.h"
#include "ops/reduce.h"

namespace fovea::ops {
namespace {

constexpr std::int64_t kRun = 1 << 12;  // elements per partial sum

ElementLossCall call_of(ElementLoss kind, const Tensor& x, const Tensor& target) {
  return {.dtype = x.dtype(),
          .kind = kind,
          .n = x.numel(),
          .run = kRun,
          .x = x.raw(),
          .target = target.raw()};
}

Tensor value(ElementLoss kind, const Tensor& x, const Tensor& target) {
  const Tensor loss = empty({}, x.options());
  const Tensor parts = detail::parts_of(x, (x.numel() + kRun - 1) / kRun);
  ElementLossCall call = call_of(kind, x, target);
  call.parts = reinterpret_cast<double*>(parts.raw());
  call.loss = loss.raw();
  kernels(loss.device()).loss.element_loss(call);
  return loss;
}

Tensor element_loss(const OpLabel& op, ElementLoss kind, const Tensor& x, const Tensor& target) {
  detail::require_target(op, x, target);
  const Tensor at = detail::wide(x), t = detail::detached_contiguous(target).to(at.dtype());
  return record(op, value(kind, at, t), {x}, {at, t},
                [kind, dtype = x.dtype()](const GradArgs& g) -> Grads {
                  const Tensor dx = empty(g.saved[0].shape(), g.saved[0].options());
                  ElementLossCall call = call_of(kind, g.saved[0], g.saved[1]);
                  call.dy = g.dy.raw();
                  call.dx = dx.raw();
                  kernels(dx.device()).loss.element_loss_grad(call);
                  return {dx.to(dtype)};
                });
}

}  // namespace

Tensor bce_with_logits(const Tensor& x, const Tensor& targets) {
  return element_loss("bce_with_logits", ElementLoss::binary_cross_entropy, x, targets);
}

Tensor mse(const Tensor& x, const Tensor& target) {
  return element_loss("mse", ElementLoss::squared_error, x, target);
}

Tensor l1(const Tensor& x, const Tensor& target) {
  detail::require_target("l1", x, target);
  const DType wide = acc_dtype(x.dtype());
  return mean(abs(x.to(wide) - target.detach().to(wide)));
}

Tensor sigmoid_focal_loss(const Tensor& x, const Tensor& targets, double alpha) {
  detail::require_target("sigmoid_focal_loss", x, targets);
  check(alpha >= 0 && alpha <= 1, "sigmoid_focal_loss: got alpha ", alpha, ", expected 0 to 1");
  const DType wide = acc_dtype(x.dtype());
  const Tensor t = targets.detach().to(wide);
  // Against its target, the logit's sign turns: 1 - p = sigmoid(z) and -log p = softplus(z).
  const Tensor z = x.to(wide) * (t * -2.0 + 1.0);
  const Tensor miss = sigmoid(z), balance = t * (2 * alpha - 1) + (1 - alpha);
  return mean(balance * miss * miss * softplus(z));
}

}  // namespace fovea::ops
