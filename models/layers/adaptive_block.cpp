// The block and the last layer of a diffusion transformer.
#include "models/layers/adaptive_block.h"

#include "models/layers/recompute.h"
#include "ops/norm.h"

namespace fovea {
namespace {

/// Vector `index` of parameters [B, count D], for all tokens: [B, 1, D].
Tensor vector_of(const Tensor& parameters, std::int64_t index, std::int64_t dim) {
  const Tensor vector = ops::slice(parameters, 1, index * dim, (index + 1) * dim);
  return ops::reshape(vector, {parameters.size(0), 1, dim});
}

/// norm(x) (1 + scale) + shift, where vectors `first` and `first` + 1 are shift and scale.
Tensor modulated(const Tensor& x, const Tensor& parameters, std::int64_t first, double eps,
                 const Context& ctx) {
  const std::int64_t D = x.size(2);
  const Tensor shift = vector_of(parameters, first, D);
  const Tensor scale = vector_of(parameters, first + 1, D);
  return (ops::layer_norm(x, {}, {}, eps) * (scale + 1) + shift).to(ctx.activations);
}

}  // namespace

AdaptiveParameters::AdaptiveParameters(const Scope& s, std::int64_t dim, std::int64_t count)
    : linear_(s / "adaLN_modulation" / 1, dim, count * dim, constant(0), constant(0)) {}

AdaptiveBlock::AdaptiveBlock(const Scope& s, const EncoderConfig& c, std::int64_t index)
    : index_(index),
      eps_(c.norm_eps),
      attn_(s.as(Role::attention) / "attn", c.attention_of(index)),
      mlp_(s.as(Role::mlp) / "mlp", c.mlp()),
      adaptive_(s, c.embed_dim, 6) {}

Tensor AdaptiveBlock::operator()(const Tensor& x, const Tensor& condition, Context& ctx) const {
  return run_block(x, condition, ctx, [this](const Tensor& in, const Tensor& c, Context& inner) {
    const Tensor out = run(in, c, inner);
    if (inner.tap) inner.show("feat/" + std::to_string(index_), out);
    return out;
  });
}

Tensor AdaptiveBlock::run(const Tensor& x, const Tensor& condition, Context& ctx) const {
  const std::int64_t D = x.size(2);
  const Tensor p = adaptive_(condition);  // [B, 6 D]
  const Tensor attended = attn_(modulated(x, p, 0, eps_, ctx), ctx);
  const Tensor y = x + vector_of(p, 2, D) * attended;  // [B, N, D]
  const Tensor mixed = mlp_(modulated(y, p, 3, eps_, ctx), ctx);
  return y + vector_of(p, 5, D) * mixed;  // [B, N, D]
}

AdaptiveHead::AdaptiveHead(const Scope& s, std::int64_t dim, std::int64_t out, double eps)
    : eps_(eps), adaptive_(s, dim, 2), linear_(s / "linear", dim, out, constant(0), constant(0)) {}

Tensor AdaptiveHead::operator()(const Tensor& x, const Tensor& condition,
                                const Context& ctx) const {
  return linear_(modulated(x, adaptive_(condition), 0, eps_, ctx));
}

}  // namespace fovea
