// The block and the last layer of a diffusion transformer.
#include "models/layers/adaptive_block.h"

#include "models/layers/recompute.h"
#include "ops/arithmetic.h"
#include "ops/norm.h"
#include "ops/view.h"

namespace fovea {
namespace {

/// Vector `index` of parameters [B, count D]: [B, D].
Tensor vector_of(const Tensor& parameters, std::int64_t index, std::int64_t dim) {
  return ops::slice(parameters, 1, index * dim, (index + 1) * dim);
}

/// norm(x) (1 + scale) + shift, where vectors `first` and `first` + 1 are shift and scale.
Tensor modulated(const Tensor& x, const Tensor& parameters, std::int64_t first, double eps,
                 const Context& ctx) {
  const std::int64_t D = x.size(2);
  const Tensor shift = vector_of(parameters, first, D);
  const Tensor scale = vector_of(parameters, first + 1, D) + 1;
  return ops::layer_norm(x, scale, shift, {eps, ctx.activations});
}

/// x + gate branch, where vector `index` is the gate.
Tensor add_gated(const Tensor& x, const Tensor& parameters, std::int64_t index,
                 const Tensor& branch) {
  const std::int64_t B = x.size(0), D = x.size(2);
  return ops::add_product(x, ops::reshape(vector_of(parameters, index, D), {B, 1, D}), branch);
}

}  // namespace

AdaptiveParameters::AdaptiveParameters(const Scope& s, std::int64_t dim, std::int64_t count)
    : linear_(s / "adaLN_modulation" / 1, dim, count * dim, constant(0), constant(0)) {}

AdaptiveBlock::AdaptiveBlock(const Scope& s, const EncoderConfig& c, std::int64_t index)
    : index_(index),
      eps_(c.norm_eps),
      attn_(s.as(Role::attention) / "attn", c.attention_of(index)),
      mlp_(s.as(Role::mlp) / "mlp", c.mlp_of(index)),
      adaptive_(s, c.embed_dim, 6) {}

Tensor AdaptiveBlock::operator()(const Tensor& x, const Tensor& condition, Context& ctx) const {
  return run_block(x, condition, ctx, [this](const Tensor& in, const Tensor& c, Context& inner) {
    const Tensor out = run(in, c, inner);
    if (inner.tap) inner.show("feat/" + std::to_string(index_), out);
    return out;
  });
}

Tensor AdaptiveBlock::run(const Tensor& x, const Tensor& condition, Context& ctx) const {
  const Tensor p = adaptive_(condition);                                           // [B, 6 D]
  const Tensor y = add_gated(x, p, 2, attn_(modulated(x, p, 0, eps_, ctx), ctx));  // [B, N, D]
  return add_gated(y, p, 5, mlp_(modulated(y, p, 3, eps_, ctx), ctx));             // [B, N, D]
}

AdaptiveHead::AdaptiveHead(const Scope& s, std::int64_t dim, std::int64_t out, double eps)
    : eps_(eps), adaptive_(s, dim, 2), linear_(s / "linear", dim, out, constant(0), constant(0)) {}

Tensor AdaptiveHead::operator()(const Tensor& x, const Tensor& condition,
                                const Context& ctx) const {
  return linear_(modulated(x, adaptive_(condition), 0, eps_, ctx));
}

}  // namespace fovea
