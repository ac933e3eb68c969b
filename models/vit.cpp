// Forward pass of ViT, from images to logits.
#include "models/vit.h"

#include "ops/arithmetic.h"
#include "ops/reduce.h"
#include "ops/view.h"

namespace fovea {

namespace {

NormConfig norm_if(bool wanted, const EncoderConfig& c) {
  return wanted ? c.norm() : NormConfig{.kind = NormKind::none};
}

std::optional<AttentionPool> make_pool(const Scope& s, const ViTConfig& c) {
  if (c.global_pool != Pooling::map) return {};
  return AttentionPool(s, c.encoder);
}

}  // namespace

ViT::ViT(ModelInfo info, const ViTConfig& c, std::uint64_t seed, TensorOptions options)
    : Classifier(std::move(info), seed, options),
      config_(c),
      embed_(top(), c.tokens, c.image.grid(), c.encoder.embed_dim),
      patch_embed_(at("patch_embed", Role::patches), c.image, c.encoder.embed_dim,
                   {.bias = !c.pre_norm, .norm = {c.encoder.norm_eps, c.embed_norm_layer}}),
      norm_pre_(at("norm_pre", Role::embed_norm), c.encoder.embed_dim,
                norm_if(c.pre_norm, c.encoder)),
      blocks_(make_blocks(at("blocks"), c.encoder)),
      norm_(at("norm", Role::norm), c.encoder.embed_dim,
            norm_if(c.final_norm && !c.fc_norm, c.encoder)),
      attn_pool_(make_pool(at("attn_pool"), c)),
      fc_norm_(at("fc_norm", Role::pooled_norm), c.encoder.embed_dim,
               norm_if(c.final_norm && c.fc_norm, c.encoder)),
      head_(at("head", Role::head), c.encoder.embed_dim, c.head) {}

/// images [B, C, H, W] -> class logits [B, K], by the paper's equations 1 to 4.
ClassifierOutput ViT::forward(const Tensor& images, Context& ctx) {
  const bool reads_one = config_.global_pool == Pooling::token;
  const Tensor x = encode(images, reads_one ? 1 : kAllTokens, ctx).x;  // [B, 1 or L, D]
  return {head_(fc_norm_(pool(x, ctx)), ctx), {}};                     // (4) [B, K]
}

/// The first `count` tokens of the last block's output.
EmbeddedTokens ViT::encode(const Tensor& images, std::int64_t count, Context& ctx) const {
  const Tensor patches = patch_embed_(images, ctx);                       // [B, N, D]
  auto [x, where] = embed_(patches, config_.image.grid_of(images), ctx);  // (1) [B, L, D]
  x = norm_pre_(x);
  ctx.show("feat/embed", x);
  return {run_blocks(blocks_, x, count, ctx, where), where};  // (2), (3) [B, count, D]
}

PatchTokens ViT::patch_tokens(const Tensor& images, Context& ctx) {
  const auto [x, where] = encode(images, kAllTokens, ctx);
  const Tensor patches = ops::slice(x, 1, where.grid.prefix, x.size(1));
  return {fc_norm_(norm_(patches)), where.grid.size};
}

/// Pools x [B, L, D] -> [B, D]; [B, L, D] without pooling. The norm acts on each token separately,
/// so if only the class token is read, only its norm is computed.
Tensor ViT::pool(const Tensor& x, Context& ctx) const {
  if (config_.global_pool == Pooling::none) return norm_(x);
  if (config_.global_pool == Pooling::token) return norm_(ops::select(x, 1, 0));
  const std::int64_t first = config_.pool_include_prefix ? 0 : config_.tokens.prefix();
  const Tensor tokens = norm_(first == 0 ? x : ops::slice(x, 1, first, x.size(1)));  // [B, N, D]
  switch (config_.global_pool) {
    case Pooling::map:
      return (*attn_pool_)(tokens, ctx);
    case Pooling::max:
      return ops::amax(tokens, {1});
    case Pooling::avgmax:
      return (ops::amax(tokens, {1}) + ops::mean(tokens, {1})) * 0.5;
    default:
      return ops::mean(tokens, {1});
  }
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
