// Optimizer steps: selecting parameters, keeping moments, counting steps. ops/update.h has the
// updates.
#include "train/optim/optimizer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/autograd.h"
#include "engine/base/error.h"
#include "ops/arithmetic.h"

namespace fovea {
namespace {

/// The update rule for a parameter of this shape: Muon falls back to AdamW unless it suits.
OptimizerKind kind_of(OptimizerKind kind, const Shape& shape) {
  return kind == OptimizerKind::muon && !detail::suits_muon(shape) ? OptimizerKind::adamw : kind;
}

constexpr double kTrustOfLars = 1e-3;  // LARS trust coefficient of MAE's code

bool has_second_moment(OptimizerKind kind) {
  return kind == OptimizerKind::adamw || kind == OptimizerKind::lamb;
}

}  // namespace

/// timm's rule: at least two axes longer than one; neither of the first two axes has length one
/// (this excludes position embeddings and depthwise filters); as a matrix at least 4 by 4, and at
/// most 128 times as long as wide.
bool detail::suits_muon(const Shape& shape) {
  if (shape.rank() < 2 || shape[0] == 1 || shape[1] == 1) return false;
  const std::int64_t rows = shape[0], columns = shape.numel() / std::max<std::int64_t>(rows, 1);
  const std::int64_t shorter = std::min(rows, columns), longer = std::max(rows, columns);
  return shorter >= 4 && longer <= 128 * shorter;
}

MomentDecay moment_decay_of(const OptimizerOptions& options) {
  MomentDecay own;
  switch (options.kind) {
    case OptimizerKind::lamb:
      own.eps = 1e-6;
      break;
    case OptimizerKind::lion:
      own.beta2 = 0.99;
      break;
    case OptimizerKind::muon:
      own = {own.beta1, 0.95, 1e-7};
      break;
    default:
      break;
  }
  return {options.beta1.value_or(own.beta1), options.beta2.value_or(own.beta2),
          options.eps.value_or(own.eps)};
}

Optimizer::Optimizer(const ParameterStore& store, OptimizerOptions options)
    : options_(std::move(options)), moments_(moment_decay_of(options_)) {
  const LayerScales by_layer(store, options_.layer_decay, options_.layer_decay_norm);
  const NamedRates by_name(store, options_.named_rates);
  for (const Parameter& parameter : store.parameters()) {
    const Tensor& p = parameter.tensor;
    if (!p.requires_grad()) continue;
    check(p.dtype() == DType::f32 || p.dtype() == DType::f64, "optimizer: parameter ",
          parameter.name, " has dtype ", p.dtype(), ", expected f32 or f64");
    Slot slot{parameter, kind_of(options_.kind, p.shape()), zeros(p.shape(), p.options()), {}};
    if (has_second_moment(slot.kind)) slot.v = zeros(p.shape(), p.options());
    slot.portion = whole(p);
    slot.lr_scale = by_layer.of(parameter) * by_name.of(parameter);
    if (parameter.role == Role::distillation_token && !options_.decay_dist_token) {
      slot.parameter.decay = Decay::no;
    }
    slots_.push_back(std::move(slot));
  }
}

bool Optimizer::divides(const Tensor& parameter) const {
  switch (kind_of(options_.kind, parameter.shape())) {
    case OptimizerKind::adamw:
    case OptimizerKind::sgd:
    case OptimizerKind::momentum:
    case OptimizerKind::lion:
      return true;
    case OptimizerKind::lamb:
    case OptimizerKind::lars:
    case OptimizerKind::muon:
      return false;
  }
  return false;
}

void Optimizer::shard_state(const PortionOf& portion_of, std::function<Tensor()> squares) {
  squares_ = std::move(squares);
  for (Slot& slot : slots_) {
    const Tensor& parameter = slot.parameter.tensor;
    const Portion portion = portion_of(parameter);
    check(portion.size() == 0 || portion == whole(parameter) || divides(parameter),
          "optimizer: ", slot.parameter.name, " cannot be updated in parts");
    for (Tensor* moment : {&slot.m, &slot.v}) {
      if (moment->defined()) *moment = part_of(*moment, portion).clone();
    }
    slot.portion = portion;
  }
}

void Optimizer::step(double lr, double gradient_scale) {
  const NoGrad no_grad;
  ++steps_done_;
  if (options_.kind == OptimizerKind::lamb) gradient_scale = clip_for_lamb(gradient_scale);
  if (slots_.empty()) return;
  write_step(lr, gradient_scale);
  for (const Slot& slot : slots_) {
    const Tensor whole_gradient = slot.parameter.tensor.grad();
    if (!whole_gradient.defined() || slot.portion.size() == 0) continue;
    const Tensor gradient = part_of(whole_gradient, slot.portion);
    const double decay = slot.parameter.decay == Decay::yes ? options_.weight_decay : 0;
    update(slot, gradient, {*now_, slot.lr_scale, decay});
  }
}

void Optimizer::write_step(double lr, double gradient_scale) {
  const ops::StepScalars numbers{.lr = lr,
                                 .gradient_scale = gradient_scale,
                                 .step = steps_done_,
                                 .beta1 = moments_.beta1,
                                 .beta2 = moments_.beta2};
  if (now_) return now_->write(numbers);
  now_.emplace(slots_.front().parameter.tensor.device(), numbers);
}

void Optimizer::update(const Slot& slot, const Tensor& gradient,
                       const ops::UpdateRates& rates) const {
  const OptimizerOptions& o = options_;
  const MomentDecay& m = moments_;
  const ops::UpdateTensors tensors{part_of(slot.parameter.tensor, slot.portion),
                                   gradient.contiguous(), slot.m, slot.v};
  switch (slot.kind) {
    case OptimizerKind::adamw:
      return ops::adamw_(tensors, rates, {m.beta1, m.beta2, m.eps});
    case OptimizerKind::sgd:
    case OptimizerKind::momentum:
      return ops::sgd_(tensors, rates, {o.momentum, slot.kind == OptimizerKind::sgd});
    case OptimizerKind::lamb:
      return ops::lamb_(tensors, rates, {m.beta1, m.beta2, m.eps});
    case OptimizerKind::lars:
      return ops::lars_(tensors, rates, {o.momentum, kTrustOfLars});
    case OptimizerKind::lion:
      return ops::lion_(tensors, rates, {m.beta1, m.beta2});
    case OptimizerKind::muon:
      return ops::muon_(tensors, rates, {o.momentum, m.eps});
  }
}

/// LAMB as published expects gradients of norm at most 1 (timm's default max_grad_norm). Gradients
/// on a device are clipped in place, so the host does not wait for their norm.
double Optimizer::clip_for_lamb(double gradient_scale) const {
  std::vector<Tensor> gradients;
  for (const Slot& slot : slots_) {
    const Tensor gradient = slot.parameter.tensor.grad();
    if (gradient.defined()) gradients.push_back(gradient);
  }
  const Tensor squares = squares_ ? squares_() : ops::sum_of_squares(gradients);
  if (squares.device().is_cpu()) {
    return gradient_scale * (1 / std::max(1.0, gradient_scale * std::sqrt(squares.item())));
  }
  const Tensor one = full({}, 1, squares.options());
  const Tensor factor = ops::div(one, ops::maximum(one, ops::sqrt(squares) * gradient_scale));
  for (const Tensor& gradient : gradients) {
    gradient.copy_(ops::mul(gradient, factor.to(gradient.dtype())));
  }
  return gradient_scale;
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
