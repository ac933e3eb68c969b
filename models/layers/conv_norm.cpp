// Convolution and batch norm in one or two passes.
#include "models/layers/conv_norm.h"

#include <cmath>
#include <utility>

#include "models/layers/tokens.h"
#include "ops/arithmetic.h"
#include "ops/matmul.h"
#include "ops/norm.h"
#include "ops/view.h"

namespace fovea {
namespace {

constexpr double kEps = 1e-5;

Tensor make_weight(const Scope& s, const ConvNormConfig& c) {
  const Shape shape{c.out, c.in, c.kernel, c.kernel};
  const Init init = normal(std::sqrt(2 / static_cast<double>(c.out * c.kernel * c.kernel)));
  return c.trained ? s.param("weight", shape, init) : s.fixed("weight", shape, init);
}

ops::Affine make_affine(const Scope& s, const ConvNormConfig& c) {
  const auto make = [&](const char* name, double value) {
    if (c.norm == ConvNormKind::frozen) return s.buffer(name, {c.out}, constant(value));
    return c.trained ? s.param(name, {c.out}, constant(value))
                     : s.fixed(name, {c.out}, constant(value));
  };
  return {make("weight", 1), make("bias", 0)};
}

}  // namespace

ConvNorm::ConvNorm(const Scope& conv, const Scope& norm, const ConvNormConfig& c)
    : config_(c), weight_(make_weight(conv, c)), affine_(make_affine(norm, c)) {
  if (c.norm == ConvNormKind::batch) {
    running_.emplace(norm, c.out);
    return;
  }
  mean_ = norm.buffer("running_mean", {c.out}, constant(0));
  variance_ = norm.buffer("running_var", {c.out}, constant(1));
}

ConvNorm::Folded ConvNorm::folded() const {
  const Tensor scale = affine_.weight * ops::rsqrt(variance_ + kEps);  // [O]
  return {weight_ * ops::reshape(scale, {config_.out, 1, 1, 1}), affine_.bias - mean_ * scale};
}

Tensor ConvNorm::plus(const Tensor& x, const Tensor& sum, const Context& ctx) const {
  const bool rounds = ctx.activations != ctx.residual();
  if (rounds && !running_ && config_.kernel == 1) return plus_as_linear(x, sum, ctx);
  Tensor y = run(x, ctx, /*relu=*/false);
  y = y.to(ctx.residual());
  return sum.defined() ? sum + std::move(y) : y;
}

/// A 1 x 1 convolution as a linear layer on the cells, whose sums are not rounded to bf16.
Tensor ConvNorm::plus_as_linear(const Tensor& x, const Tensor& sum, const Context& ctx) const {
  const auto [weight, bias] = folded();
  const auto [down, right] = config_.options.stride;
  const Tensor read = ops::slice(ops::slice(x, 2, {0, x.size(2), down}), 3, {0, x.size(3), right});
  const Shape cells{read.size(0), read.size(2) * read.size(3), config_.out};
  const Tensor addend =
      sum.defined() ? map_to_tokens(sum) : zeros(cells, {ctx.residual(), x.device()});
  const Tensor y = ops::linear(map_to_tokens(read), ops::reshape(weight, {config_.out, config_.in}),
                               bias, addend);
  return tokens_to_map(y, read.size(2), read.size(3));
}

Tensor ConvNorm::run(const Tensor& x, const Context& ctx, bool relu) const {
  if (running_) {
    const Tensor y = ops::conv2d(x, weight_, {}, config_.options);
    const bool training = ctx.training && config_.trained;
    return running_->normalize(y, affine_, {.training = training, .eps = kEps, .relu = relu});
  }
  const auto [weight, bias] = folded();
  return relu ? ops::conv2d_relu(x, weight, bias, config_.options)
              : ops::conv2d(x, weight, bias, config_.options);
}

}  // namespace fovea
