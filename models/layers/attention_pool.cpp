// Forward pass of attention pooling.
#include "models/layers/attention_pool.h"

#include <cmath>

#include "models/layers/attend.h"
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

Tensor AttentionPool::operator()(const Tensor& tokens, Context& ctx) const {
  const Tensor x = tokens.to(ctx.activations);
  const std::int64_t B = x.size(0), D = x.size(2);
  const Tensor q = ops::expand(q_(latent_.to(x.dtype())), {B, 1, D});  // [B, 1, D]
  const Tensor kv = kv_(x);                                            // [B, N, 2 D]
  const Tensor k = ops::slice(kv, 2, 0, D), v = ops::slice(kv, 2, D, 2 * D);
  const Tensor mixed = ops::attention(split_heads(q, heads_), split_heads(k, heads_),
                                      split_heads(v, heads_));  // [B, H, 1, D / H]
  const Tensor pooled = proj_(ops::reshape(mixed, {B, 1, D}));  // [B, 1, D]
  return ops::reshape(pooled + mlp_(norm_(pooled, ctx), ctx), {B, D});
}

}  // namespace fovea
