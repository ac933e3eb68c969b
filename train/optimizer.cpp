// The bookkeeping around the updates: which parameters, which moments, how many steps.
#include "train/optimizer.h"

#include <algorithm>
#include <cmath>

#include "engine/autograd.h"
#include "engine/check.h"
#include "train/gradients.h"
#include "train/layer_decay.h"

namespace fovea {
namespace {

detail::UpdateFn update_of(OptimizerKind kind, const Shape& shape) {
  switch (kind) {
    case OptimizerKind::sgd:
      return detail::sgd_update;
    case OptimizerKind::lamb:
      return detail::lamb_update;
    case OptimizerKind::lion:
      return detail::lion_update;
    case OptimizerKind::muon:
      return detail::suits_muon(shape) ? detail::muon_update : detail::adamw_update;
    default:
      return detail::adamw_update;
  }
}

bool has_second_moment(detail::UpdateFn update) {
  return update == detail::adamw_update || update == detail::lamb_update;
}

}  // namespace

OptimizerOptions default_options(OptimizerKind kind) {
  OptimizerOptions options;
  options.kind = kind;
  if (kind == OptimizerKind::lamb) options.eps = 1e-6;
  if (kind == OptimizerKind::lion) options.beta2 = 0.99;
  if (kind == OptimizerKind::muon) options.beta2 = 0.95, options.eps = 1e-7;
  return options;
}

Optimizer::Optimizer(const ParameterStore& store, OptimizerOptions options) : options_(options) {
  const LayerScales scales(store, options_.layer_decay);
  for (const Parameter& parameter : store.parameters()) {
    const Tensor& p = parameter.tensor;
    if (!p.requires_grad()) continue;
    check(p.dtype() == DType::f32 || p.dtype() == DType::f64, "optimizer: parameter ",
          parameter.name, " has dtype ", p.dtype(), ", expected f32 or f64");
    Slot slot{parameter, zeros(p.shape(), p.options()), {}, update_of(options_.kind, p.shape())};
    if (has_second_moment(slot.update)) slot.v = zeros(p.shape(), p.options());
    slot.lr_scale = scales.of(parameter.name);
    if (parameter.name == "dist_token" && !options_.decay_dist_token) {
      slot.parameter.decay = Decay::no;
    }
    slots_.push_back(std::move(slot));
  }
}

void Optimizer::step(double lr, double gradient_scale) {
  const NoGrad no_grad;
  ++steps_done_;
  if (options_.kind == OptimizerKind::lamb) gradient_scale *= clip_of_lamb(gradient_scale);
  for (const Slot& slot : slots_) {
    const Tensor gradient = slot.parameter.tensor.grad();
    if (!gradient.defined()) continue;
    detail::Update update{slot.parameter.tensor, gradient.contiguous(), slot.m, slot.v};
    update.lr = lr * slot.lr_scale;
    update.weight_decay = slot.parameter.decay == Decay::yes ? options_.weight_decay : 0;
    update.gradient_scale = gradient_scale;
    update.step = steps_done_;
    slot.update(update, options_);
    slot.parameter.tensor.bump_version();
  }
}

/// LAMB as published works on gradients whose norm is at most 1; timm's default max_grad_norm.
double Optimizer::clip_of_lamb(double gradient_scale) const {
  double squares = 0;
  for (const Slot& slot : slots_) {
    const Tensor gradient = slot.parameter.tensor.grad();
    if (gradient.defined()) squares += sum_of_squares(gradient);
  }
  return 1 / std::max(1.0, gradient_scale * std::sqrt(squares));
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
