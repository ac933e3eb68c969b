// Optimizer steps: selecting parameters, keeping moments, counting steps. ops/update.h has the
// updates.
#include "train/optim/optimizer.h"

#include <algorithm>
#include <utility>

#include "engine/autograd.h"
#include "engine/base/error.h"
#include "engine/copy.h"
#include "engine/kept_copy.h"

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

void Optimizer::step(double lr, const GradientScale& scale, Ema* ema) {
  begin_step(lr, scale.factor, ema);
  update(scale, ema);
}

void Optimizer::begin_step(double lr, double factor, const Ema* ema) {
  ++steps_done_;
  if (slots_.empty()) return;
  const ops::StepScalars numbers{.lr = lr,
                                 .gradient_scale = factor,
                                 .step = steps_done_,
                                 .beta1 = moments_.beta1,
                                 .beta2 = moments_.beta2,
                                 .average_decay = ema == nullptr ? 0 : ema->decay_at(steps_done_)};
  if (now_) {
    now_->write(numbers);
  } else {
    now_.emplace(slots_.front().parameter.tensor.device(), numbers);
  }
}

void Optimizer::skip_unless_finite(const Tensor& loss, const Tensor& squares, const Ema* ema) {
  if (!skipped_.defined()) skipped_ = zeros({1}, squares.options());
  const ops::AverageDecay decay = ema == nullptr ? ops::AverageDecay() : ema->decay();
  now_->skip_unless_finite(loss, squares, skipped_, decay);
}

void Optimizer::skipped(std::int64_t steps) {
  steps_done_ -= steps;
  copy_into(skipped_, zeros({1}, {DType::f64, {}}));
}

void Optimizer::update(const GradientScale& scale, Ema* ema) const {
  if (slots_.empty()) return;
  const NoGrad no_grad;
  if (scale.squares.defined()) now_->limit_norm(scale.squares, scale.limit, kClipMargin);
  // LAMB as published expects gradients of norm at most 1 (timm's default max_grad_norm).
  if (options_.kind == OptimizerKind::lamb) now_->limit_norm(squares(), 1);
  update_those_of(options_.kind, ema);
  if (options_.kind == OptimizerKind::muon) update_those_of(OptimizerKind::adamw, ema);
}

/// Updates the parameters of this kind, their averages, and the bf16 copies of those that products
/// have read.
void Optimizer::update_those_of(OptimizerKind kind, Ema* ema) const {
  std::vector<ops::Update> updates;
  std::vector<Tensor> copied;
  for (const Slot& slot : slots_) {
    const Tensor& parameter = slot.parameter.tensor;
    const Tensor gradient = parameter.grad();
    if (slot.kind != kind || !gradient.defined() || slot.portion.size() == 0) continue;
    const bool is_whole = slot.portion == whole(parameter);
    ops::UpdateTensors tensors{part_of(parameter, slot.portion),
                               part_of(gradient.contiguous(), slot.portion), slot.m, slot.v};
    if (ema != nullptr) tensors.average = ema->lend(slot.parameter.name, tensors.parameter);
    if (is_whole) tensors.copy = kept_copy(parameter, DType::bf16);
    if (tensors.copy.defined()) copied.push_back(parameter);
    const double decay = slot.parameter.decay == Decay::yes ? options_.weight_decay : 0;
    updates.push_back({tensors, {*now_, slot.lr_scale, decay}});
  }
  if (!updates.empty()) run(kind, updates);
  for (const Tensor& parameter : copied) set_copy_current(parameter);
}

void Optimizer::run(OptimizerKind kind, ops::Updates updates) const {
  const OptimizerOptions& o = options_;
  const MomentDecay& m = moments_;
  switch (kind) {
    case OptimizerKind::adamw:
      return ops::adamw_(updates, {m.beta1, m.beta2, m.eps});
    case OptimizerKind::sgd:
    case OptimizerKind::momentum:
      return ops::sgd_(updates, {o.momentum, kind == OptimizerKind::sgd});
    case OptimizerKind::lamb:
      return ops::lamb_(updates, {m.beta1, m.beta2, m.eps});
    case OptimizerKind::lars:
      return ops::lars_(updates, {o.momentum, kTrustOfLars});
    case OptimizerKind::lion:
      return ops::lion_(updates, {m.beta1, m.beta2});
    case OptimizerKind::muon:
      return ops::muon_(updates, {o.momentum, m.eps});
  }
}

/// The sum of the squares of all gradients that are updated from.
Tensor Optimizer::squares() const {
  if (squares_) return squares_();
  std::vector<Tensor> gradients;
  for (const Slot& slot : slots_) {
    const Tensor gradient = slot.parameter.tensor.grad();
    if (gradient.defined()) gradients.push_back(gradient);
  }
  return ops::sum_of_squares(gradients);
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
