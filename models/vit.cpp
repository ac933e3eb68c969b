// Forward pass of ViT, from images to logits.
#include "models/vit.h"

namespace fovea {

ViT::ViT(ModelInfo info, const ViTConfig& c, std::uint64_t seed, TensorOptions options)
    : Classifier(std::move(info), seed, options),
      config_(c),
      embed_(top(), c.tokens, c.image.grid(), c.encoder.embed_dim),
      rope_(at("rope"), c.encoder.rotary()),
      patch_embed_(at("patch_embed", Role::patches), c.image, c.encoder.embed_dim,
                   {.bias = !c.pre_norm, .norm = {c.encoder.norm_eps, c.embed_norm_layer}}),
      norm_pre_(at("norm_pre", Role::embed_norm), c.encoder.embed_dim,
                {c.encoder.norm_eps, c.encoder.norm_if(c.pre_norm)}),
      blocks_(make_blocks(at("blocks"), c.encoder)),
      norm_(at("norm", Role::norm), c.encoder.embed_dim,
            {c.encoder.norm_eps, c.encoder.norm_if(c.final_norm && !c.fc_norm)}),
      pool_(at("attn_pool"), c.encoder,
            {.kind = c.global_pool,
             .prefix = c.pool_include_prefix ? 0 : c.tokens.prefix(),
             .map_heads = c.attn_pool_num_heads,
             .map_mlp_ratio = c.attn_pool_mlp_ratio}),
      fc_norm_(at("fc_norm", Role::pooled_norm), c.encoder.embed_dim,
               {c.encoder.norm_eps, c.encoder.norm_if(c.final_norm && c.fc_norm)}),
      head_(at("head", Role::head), c.encoder.embed_dim, c.head) {}

/// images [B, C, H, W] -> class logits [B, K], by the paper's equations:
///   (1) z = [x_class; x_p E] + E_pos
///   (2) z' = MSA(LN(z)) + z, in each block (PreNormBlock in block.cpp)
///   (3) z = MLP(LN(z')) + z'
///   (4) y = LN(z^0) for the class token z^0; or other tokens, normalised and pooled
ClassifierOutput ViT::forward(const Tensor& images, Context& ctx) {
  auto [z, where] = embed(images, ctx);                   // (1) [B, L, D]
  z = run_blocks(blocks_, z, pool_.needs(), ctx, where);  // (2), (3) [B, L or 1, D]
  const Tensor y = pool_(norm_(pool_.choose(z)), ctx);    // (4) [B, D]
  return {head_(fc_norm_(y), ctx), {}};                   // [B, K]
}

/// The tokens of all patches x_p E, with class token and positions: [B, C, H, W] -> [B, L, D].
EmbeddedTokens ViT::embed(const Tensor& images, Context& ctx) const {
  const Tensor patches = patch_embed_(images, ctx);                       // [B, N, D]
  auto [z, where] = embed_(patches, config_.image.grid_of(images), ctx);  // [B, L, D]
  z = norm_pre_(z);
  ctx.show("feat/embed", z);
  return {z, rope_(where, ctx)};
}

PatchTokens ViT::patch_tokens(const Tensor& images, Context& ctx) {
  auto [z, where] = embed(images, ctx);
  z = run_blocks(blocks_, z, kAllTokens, ctx, where);
  return {fc_norm_(norm_(without_prefix(z, where.grid.prefix))), where.grid.size};
}

TokenInfo ViT::tokens() const {
  return {{config_.image.grid(), config_.tokens.prefix()},
          config_.image.patch_size,
          config_.encoder.depth,
          config_.encoder.num_heads,
          /*hides_some=*/false,
          !config_.encoder.is_differential()};
}

}  // namespace fovea
