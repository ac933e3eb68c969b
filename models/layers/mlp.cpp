// Forward pass of the perceptron.
#include "models/layers/mlp.h"

#include "ops/arithmetic.h"
#include "ops/mlp.h"
#include "ops/view.h"

namespace fovea {
namespace {

/// Initial values of the first and of the second half of a parameter's rows.
Init halves(const Init& first, const Init& second) {
  return [first, second](const Tensor& parameter, RandomKey key) {
    const std::int64_t half = parameter.size(0) / 2;
    first(ops::slice(parameter, 0, 0, half), key);
    second(ops::slice(parameter, 0, half, 2 * half), {key.seed, stream_of(key.stream, 2)});
  };
}

/// Initial values of a gate, which starts at about 1, so that a gated MLP starts almost as a plain
/// one, as in timm.
Init gate_weight() { return normal(1e-6); }
Init gate_bias(bool wanted) { return wanted ? constant(1) : Init(); }

std::optional<Linear> make_gate(const Scope& s, const MlpConfig& c) {
  if (c.kind != MlpKind::swiglu) return {};
  if (!c.opens_gate) return Linear(s / "fc1_g", c.in, c.hidden, c.bias);
  return Linear(s / "fc1_g", c.in, c.hidden, gate_weight(), gate_bias(c.bias));
}

Linear make_fc1(const Scope& s, const MlpConfig& c) {
  if (c.kind == MlpKind::swiglu) return {s / "fc1_x", c.in, c.hidden, c.bias};
  if (c.kind == MlpKind::mlp || !c.opens_gate) return {s / "fc1", c.in, c.hidden, c.bias};
  const Init weight = halves(s.linear_weight(c.in, c.hidden), gate_weight());
  return {s / "fc1", c.in, c.hidden, weight,
          c.bias ? halves(constant(0), gate_bias(true)) : Init()};
}

}  // namespace

Mlp::Mlp(const Scope& s, const MlpConfig& c)
    : config_(c),
      gate_(make_gate(s, c)),
      fc1_(make_fc1(s, c)),
      norm_(s.as(Role::norm) / "norm", c.gated(), {c.norm_eps, c.norm}),
      fc2_(Linear::scaled(s / "fc2", {c.gated(), c.out}, c.bias, c.out_scale)),
      drop_(c.drop) {}

Branch Mlp::operator()(const Tensor& x, Context& ctx) const {
  const bool is_gelu = config_.act == Activation::gelu || config_.act == Activation::gelu_tanh;
  const bool plain = config_.kind == MlpKind::mlp && is_gelu && config_.norm == NormKind::none;
  if (plain && !drop_.drops(ctx)) {
    const auto form = config_.act == Activation::gelu ? ops::GeluForm::erf : ops::GeluForm::tanh;
    const ops::MlpWeights weights{fc1_.weight(), fc1_.bias(), fc2_.weight(), fc2_.bias()};
    return Branch([x, weights, form](const Tensor& residual) {
      return ops::mlp(x, weights, residual, form);
    });
  }
  return drop_(fc2_.branch(norm_(drop_(hidden(x), ctx))), ctx);
}

/// The hidden values, [B, N, in] -> [B, N, gated()].
Tensor Mlp::hidden(const Tensor& x) const {
  const Tensor h = fc1_(x);
  if (gate_) return activate(config_.act, (*gate_)(x)) * h;
  if (config_.kind == MlpKind::mlp) return activate(config_.act, h);
  const std::int64_t half = config_.gated();
  const int channels = h.rank() - 1;
  return activate(config_.act, ops::slice(h, channels, 0, half)) *
         ops::slice(h, channels, half, 2 * half);
}

}  // namespace fovea
