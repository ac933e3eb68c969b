// Forward pass of DeiT: class and distillation token share the transformer and have one head each.
#include "models/deit.h"

#include "ops/arithmetic.h"
#include "ops/view.h"

namespace fovea {

DeiT::DeiT(ModelInfo info, const DeiTConfig& c, std::uint64_t seed, TensorOptions options)
    : Classifier(std::move(info), seed, options),
      config_(c),
      embed_(top(), {.distilled = true, .pos_drop_rate = c.pos_drop_rate}, c.image.grid(),
             c.encoder.embed_dim),
      rope_(at("rope"), c.encoder.rotary()),
      patch_embed_(at("patch_embed", Role::patches), c.image, c.encoder.embed_dim),
      blocks_(make_blocks(at("blocks"), c.encoder)),
      norm_(at("norm", Role::norm), c.encoder.embed_dim, c.encoder.norm_eps),
      drop_(c.drop_rate),
      head_(at("head", Role::head), c.encoder.embed_dim, c.num_classes),
      head_dist_(at("head_dist", Role::distillation_head), c.encoder.embed_dim, c.num_classes) {}

/// Maps images [B, C, H, W] to logits [B, K] of both heads; in evaluation to their mean.
ClassifierOutput DeiT::forward(const Tensor& images, Context& ctx) {
  const Tensor patches = patch_embed_(images, ctx);                       // [B, N, D]
  auto [x, where] = embed_(patches, config_.image.grid_of(images), ctx);  // [B, 2 + N, D]
  ctx.show("feat/embed", x);
  x = run_blocks(blocks_, x, 2, ctx, rope_(where, ctx));             // [B, 2, D]
  const Tensor tokens = drop_(norm_(x), ctx);                        // [B, 2, D]
  ctx.show("pooled", ops::reshape(tokens, {tokens.size(0), -1}));    // [B, 2 D]
  const Tensor logits = head_(ops::select(tokens, 1, 0));            // [B, K]
  const Tensor logits_dist = head_dist_(ops::select(tokens, 1, 1));  // [B, K]
  if (ctx.training) return {logits, logits_dist};
  return {(logits + logits_dist) * 0.5, {}};
}

TokenInfo DeiT::tokens() const {
  return {{config_.image.grid(), 2},
          config_.image.patch_size,
          config_.encoder.depth,
          config_.encoder.num_heads};
}

}  // namespace fovea
