// Convolution and batch norm in one or two passes.
#include "models/layers/conv_norm.h"

#include <cmath>

#include "ops/arithmetic.h"
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

Tensor ConvNorm::run(const Tensor& x, const Context& ctx, bool relu) const {
  if (running_) {
    const Tensor y = ops::conv2d(x, weight_, {}, config_.options);
    const bool training = ctx.training && config_.trained;
    return running_->normalize(y, affine_, {.training = training, .eps = kEps, .relu = relu});
  }
  const Tensor scale = affine_.weight * ops::rsqrt(variance_ + kEps);  // [O]
  const Tensor weight = weight_ * ops::reshape(scale, {config_.out, 1, 1, 1});
  const Tensor bias = affine_.bias - mean_ * scale;
  return relu ? ops::conv2d_relu(x, weight, bias, config_.options)
              : ops::conv2d(x, weight, bias, config_.options);
}

}  // namespace fovea
