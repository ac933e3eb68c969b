// The bookkeeping around the updates: which parameters, which moments, how many steps.
#include "train/optimizer.h"

#include "engine/autograd.h"
#include "engine/check.h"

namespace fovea {

Optimizer::Optimizer(const ParameterStore& store, OptimizerOptions options) : options_(options) {
  for (const Parameter& parameter : store.parameters()) {
    const Tensor& p = parameter.tensor;
    if (!p.requires_grad()) continue;
    check(p.dtype() == DType::f32 || p.dtype() == DType::f64, "optimizer: parameter ",
          parameter.name, " has dtype ", p.dtype(), ", expected f32 or f64");
    Slot slot{parameter, zeros(p.shape(), p.options()), {}};
    if (options_.kind == OptimizerKind::adamw) slot.v = zeros(p.shape(), p.options());
    slots_.push_back(std::move(slot));
  }
}

void Optimizer::step(double lr, double gradient_scale) {
  const NoGrad no_grad;
  ++steps_done_;
  for (const Slot& slot : slots_) {
    const Tensor gradient = slot.parameter.tensor.grad();
    if (!gradient.defined()) continue;
    detail::Update update{slot.parameter.tensor, gradient.contiguous(), slot.m, slot.v};
    update.lr = lr;
    update.weight_decay = slot.parameter.decay == Decay::yes ? options_.weight_decay : 0;
    update.gradient_scale = gradient_scale;
    update.step = steps_done_;
    if (options_.kind == OptimizerKind::adamw) {
      detail::adamw_update(update, options_);
    } else {
      detail::sgd_update(update, options_);
    }
    slot.parameter.tensor.bump_version();
  }
}

std::map<std::string, Tensor> Optimizer::state() const {
  std::map<std::string, Tensor> tensors;
  for (const Slot& slot : slots_) {
    tensors["m/" + slot.parameter.name] = slot.m;
    if (slot.v.defined()) tensors["v/" + slot.parameter.name] = slot.v;
  }
  return tensors;
}

}  // namespace fovea
