// Forward pass of ViT, from images to logits.
#include "models/vit.h"

#include "ops/reduce.h"
#include "ops/view.h"

namespace fovea {

ViT::ViT(ModelInfo info, const ViTConfig& c, std::uint64_t seed, TensorOptions options)
    : Classifier(std::move(info), seed, options),
      config_(c),
      embed_(top(), c.tokens, c.image.grid(), c.encoder.embed_dim),
      patch_embed_(at("patch_embed", Role::patches), c.image, c.encoder.embed_dim),
      blocks_(make_blocks(at("blocks"), c.encoder)),
      norm_(c.fc_norm ? at("fc_norm", Role::pooled_norm) : at("norm", Role::norm),
            c.encoder.embed_dim, c.encoder.norm_eps),
      head_(at("head", Role::head), c.encoder.embed_dim, c.head) {}

/// images [B, C, H, W] -> class logits [B, K], by the paper's equations 1 to 4.
ClassifierOutput ViT::forward(const Tensor& images, Context& ctx) {
  const Tensor patches = patch_embed_(images, ctx);                       // [B, N, D]
  auto [x, where] = embed_(patches, config_.image.grid_of(images), ctx);  // (1) [B, L, D]
  ctx.show("feat/embed", x);
  for (const Block& block : blocks_) x = block(x, ctx, where);  // (2), (3) [B, L, D]
  return {head_(pool(x), ctx), {}};                             // (4) [B, K]
}

/// Pools x [B, L, D] -> [B, D]. The norm acts on each token separately, so if only the class token
/// is read, only its norm is computed.
Tensor ViT::pool(const Tensor& x) const {
  if (config_.global_pool == Pooling::token) return norm_(ops::select(x, 1, 0));
  const Tensor patches = ops::slice(x, 1, config_.tokens.prefix(), x.size(1));  // [B, N, D]
  return config_.fc_norm ? norm_(ops::mean(patches, {1})) : ops::mean(norm_(patches), {1});
}

TokenInfo ViT::tokens() const {
  return {{config_.image.grid(), config_.tokens.prefix()},
          config_.image.patch_size,
          config_.encoder.depth,
          config_.encoder.num_heads};
}

}  // namespace fovea
