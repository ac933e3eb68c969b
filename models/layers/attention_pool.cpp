// Forward pass of attention pooling.
#include "models/layers/attention_pool.h"

#include <cmath>

#include "ops/attention.h"
#include "ops/view.h"

namespace fovea {

AttentionPool::AttentionPool(const Scope& s, const EncoderConfig& c)
    : heads_(c.num_heads),
      latent_(s.param("latent", {1, 1, c.embed_dim},
                      trunc_normal(1 / std::sqrt(static_cast<double>(c.embed_dim))))),
      q_(s / "q", c.embed_dim, c.embed_dim),
      kv_(s / "kv", c.embed_dim, 2 * c.embed_dim),
      proj_(s / "proj", c.embed_dim, c.embed_dim),
      norm_(s / "norm", c.embed_dim, c.norm()),
      mlp_(s / "mlp",
           {.in = c.embed_dim, .hidden = c.hidden(), .out = c.embed_dim, .act = c.act_layer}) {}

/// [B, N, D] -> [B, H, N, D / H].
Tensor AttentionPool::heads_of(const Tensor& x) const {
  return ops::permute(ops::reshape(x, {x.size(0), x.size(1), heads_, -1}), {0, 2, 1, 3});
}

Tensor AttentionPool::operator()(const Tensor& tokens, Context& ctx) const {
  const Tensor x = tokens.to(ctx.activations);
  const std::int64_t B = x.size(0), D = x.size(2);
  const Tensor q = ops::expand(q_(latent_.to(x.dtype())), {B, 1, D});  // [B, 1, D]
  const Tensor kv = kv_(x);                                            // [B, N, 2 D]
  const Tensor mixed = ops::attention(heads_of(q), heads_of(ops::slice(kv, 2, 0, D)),
                                      heads_of(ops::slice(kv, 2, D, 2 * D)));  // [B, H, 1, D / H]
  const Tensor pooled = proj_(ops::reshape(mixed, {B, 1, D}));                 // [B, 1, D]
  return ops::reshape(pooled + mlp_(norm_(pooled, ctx), ctx), {B, D});
}

}  // namespace fovea
