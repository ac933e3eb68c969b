// DeiT: class and distillation token through one transformer, a head for each.
#include "models/deit.h"

#include "models/layers/pos_embed.h"
#include "models/layers/recompute.h"
#include "ops/arithmetic.h"
#include "ops/dropout.h"
#include "ops/view.h"

namespace fovea {

DeiT::DeiT(ModelInfo info, const DeiTConfig& c, std::uint64_t seed, TensorOptions options)
    : Model(std::move(info), seed, options),
      config_(c),
      cls_token_(
          Scope(store())
              .as(Role::token)
              .param("cls_token", {1, 1, c.encoder.embed_dim}, trunc_normal(0.02), Decay::no)),
      // Decayed, unlike the class token: so did the official runs.
      dist_token_(
          Scope(store())
              .as(Role::distillation_token)
              .param("dist_token", {1, 1, c.encoder.embed_dim}, trunc_normal(0.02), Decay::yes)),
      pos_embed_(Scope(store())
                     .as(Role::position_table)
                     .param("pos_embed", {1, 2 + c.image.patches(), c.encoder.embed_dim},
                            trunc_normal(0.02), Decay::no)),
      patch_embed_(Scope(store()).as(Role::patches) / "patch_embed", c.image, c.encoder.embed_dim),
      blocks_(make_blocks(Scope(store()) / "blocks", c.encoder)),
      norm_(Scope(store()).as(Role::norm) / "norm", c.encoder.embed_dim, c.encoder.norm_eps),
      head_(Scope(store()).as(Role::head) / "head", c.encoder.embed_dim, c.num_classes),
      head_dist_(Scope(store()).as(Role::distillation_head) / "head_dist", c.encoder.embed_dim,
                 c.num_classes) {}

/// images [B, C, H, W] -> logits [B, K] of both heads, or in evaluation their mean.
ModelOutput DeiT::forward(const Tensor& images, Context& ctx) {
  Tensor x = embed(images, ctx);  // [B, 2 + N, D]
  for (const Block& block : blocks_) {
    x = run_block(x, ctx, [&block](const Tensor& in, Context& c) { return block(in, c); });
  }
  const Tensor tokens = norm_(ops::slice(x, 1, 0, 2));               // [B, 2, D]
  const Tensor logits = head_(ops::select(tokens, 1, 0));            // [B, K]
  const Tensor logits_dist = head_dist_(ops::select(tokens, 1, 1));  // [B, K]
  if (ctx.training) return {logits, logits_dist};
  return {(logits + logits_dist) * 0.5, {}};
}

/// images [B, C, H, W] -> [B, 2 + N, D].
Tensor DeiT::embed(const Tensor& images, Context& ctx) const {
  Tensor x = patch_embed_(images, ctx);  // [B, N, D]
  const Shape one_token{x.size(0), 1, x.size(2)};
  const Tensor cls = ops::expand(cls_token_.to(x.dtype()), one_token);    // [B, 1, D]
  const Tensor dist = ops::expand(dist_token_.to(x.dtype()), one_token);  // [B, 1, D]
  const PositionTable table{pos_embed_, PosEmbed::learned, {config_.image.grid(), 2}};
  const Tensor pos = table.at({config_.image.grid_of(images), 2}, ctx);
  x = ops::cat({cls, dist, x}, 1) + pos.to(x.dtype());  // [B, 2 + N, D]
  if (ctx.training && config_.pos_drop_rate > 0) {
    x = ops::dropout(x, config_.pos_drop_rate, ctx.next_key());
  }
  ctx.show("feat/embed", x);
  return x;
}

TokenInfo DeiT::tokens() const {
  return {{config_.image.grid(), 2},
          config_.image.patch_size,
          config_.encoder.depth,
          config_.encoder.num_heads};
}

}  // namespace fovea
