// Forward pass of MAE: encodes the visible patches and predicts the pixels of the masked ones.
#include "models/mae.h"

#include "engine/autograd.h"
#include "engine/random.h"
#include "ops/arithmetic.h"
#include "ops/index.h"
#include "ops/order.h"
#include "ops/reduce.h"
#include "ops/view.h"

namespace fovea {
namespace {

/// Position table. A learned one is decayed, as MAE's code exempts no name.
Tensor position_table(const Scope& s, const MaeConfig& c, std::int64_t dim, const char* name) {
  const TokenGrid grid{c.image.grid(), 1};
  const Shape shape{1, grid.tokens(), dim};
  const Scope place = s.as(Role::position_table).over(grid);
  if (c.pos_embed == PosEmbed::learned) return place.param(name, shape, trunc_normal(0.02));
  return place.fixed(name, shape, sincos_table(grid.size, grid.prefix));
}

Init patch_weight(const MaeConfig& c) { return xavier(c.patch_values(), c.encoder.embed_dim); }

/// Gathers x [B, n, D] -> [B, m, D]: the tokens at places [B, m] of each image.
Tensor tokens_at(const Tensor& x, const Tensor& places) {
  const std::int64_t B = places.size(0), m = places.size(1), D = x.size(2);
  return ops::gather(x, 1, ops::expand(ops::reshape(places, {B, m, 1}), {B, m, D}));
}

/// Decoder blocks have no block number: layer-wise learning rates cover only the encoder's stack.
std::vector<Block> make_decoder_blocks(const Scope& s, const EncoderConfig& c) {
  std::vector<Block> blocks;
  for (std::int64_t i = 0; i < c.depth; ++i) blocks.emplace_back(s / i, c, i);
  return blocks;
}

}  // namespace

std::int64_t MaeConfig::kept() const {
  return static_cast<std::int64_t>(static_cast<double>(image.patches()) * (1 - mask_ratio));
}

Masking::Masking(const Tensor& noise, std::int64_t kept) {
  const NoGrad no_grad;
  const Tensor shuffle = ops::argsort(noise, 1);
  visible = ops::slice(shuffle, 1, 0, kept).contiguous();
  restore = ops::argsort(shuffle, 1);
  hidden = ops::clamp(restore.to(DType::f32) - static_cast<double>(kept - 1), 0, 1);
}

PatchTargets::PatchTargets(const Tensor& images, const MaeConfig& c)
    : values_(patch_pixels(images, c.image.patch_size)) {
  if (!c.norm_pix_loss) return;
  mean_ = ops::mean(values_, {2}, true);
  scale_ = ops::rsqrt(ops::var(values_, {2}, 1, true) + 1e-6);
  values_ = (values_ - mean_) * scale_;
}

Tensor PatchTargets::to_pixels(const Tensor& predicted) const {
  if (!scale_.defined()) return predicted;
  return predicted / scale_ + mean_;
}

Mae::Mae(ModelInfo info, const MaeConfig& c, std::uint64_t seed, TensorOptions options)
    : Model(std::move(info), seed, options),
      config_(c),
      // Both tokens are decayed: MAE's code exempts no name.
      cls_token_(top().as(Role::token), "cls_token", c.encoder.embed_dim, normal(0.02), Decay::yes),
      pos_embed_(position_table(top(), c, c.encoder.embed_dim, "pos_embed")),
      rope_(at("rope"), c.encoder.rotary()),
      patch_embed_(at("patch_embed", Role::patches), c.image, c.encoder.embed_dim, patch_weight(c)),
      blocks_(make_blocks(at("blocks").xavier(), c.encoder)),
      norm_(at("norm", Role::norm), c.encoder.embed_dim, c.encoder.norm_eps),
      decoder_embed_(decoder() / "decoder_embed", c.encoder.embed_dim, c.decoder.embed_dim),
      mask_token_(decoder(), "mask_token", c.decoder.embed_dim, normal(0.02), Decay::yes),
      decoder_pos_embed_(position_table(decoder(), c, c.decoder.embed_dim, "decoder_pos_embed")),
      decoder_rope_(decoder() / "decoder_rope", c.decoder.rotary()),
      decoder_blocks_(make_decoder_blocks(decoder() / "decoder_blocks", c.decoder)),
      decoder_norm_(decoder() / "decoder_norm", c.decoder.embed_dim, c.decoder.norm_eps),
      decoder_pred_(decoder() / "decoder_pred", c.decoder.embed_dim, c.patch_values()) {}

Tensor Mae::probe(const Tensor& images, Context& ctx) {
  const Shape shape{images.size(0), config_.image.patches()};
  const Tensor noise =
      rand_uniform(shape, {0, 1}, ctx.next_key().now(), {DType::f32, images.device()});
  return reconstruct(images, Masking(noise, config_.kept()), ctx).pixels;
}

Reconstruction Mae::reconstruct(const Tensor& images, const Masking& masking, Context& ctx) const {
  const Tensor latent = encode(images, &masking, ctx);
  return {latent, decode(latent, masking, ctx)};
}

Tensor Mae::features(const Tensor& images, Context& ctx) const {
  return encode(images, nullptr, ctx);
}

/// Encodes the visible patches: [B, 1 + kept, D].
Tensor Mae::encode(const Tensor& images, const Masking* masking, Context& ctx) const {
  const std::int64_t B = images.size(0), N = config_.image.patches();
  const Tensor patches = patch_embed_(images, ctx);  // [B, N, D]
  const Tensor pos = pos_embed_.to(patches.dtype());
  const Tensor all = patches + ops::slice(pos, 1, 1, 1 + N);
  const Tensor x = masking == nullptr ? all : tokens_at(all, masking->visible);
  const Tensor cls = cls_token_.value(x.dtype()) + ops::slice(pos, 1, 0, 1);
  Tensor tokens = ops::cat({repeated(cls, B, 1), x}, 1);
  ctx.show("feat/embed", tokens);
  Positions where = rope_({{config_.image.grid(), 1}}, ctx);
  if (masking != nullptr) where.rotation.places = masking->visible;
  for (const Block& block : blocks_) tokens = block(tokens, ctx, where);
  return norm_(tokens);
}

/// Decodes latent [B, 1 + kept, D] -> [B, N, patch values].
Tensor Mae::decode(const Tensor& latent, const Masking& masking, Context& ctx) const {
  const std::int64_t N = config_.image.patches(), L = latent.size(1);
  const Tensor y = decoder_embed_(latent.to(ctx.activations)).to(ctx.residual());
  const Tensor holes = mask_token_.like(y, N + 1 - L);
  const Tensor patches =
      tokens_at(ops::cat({ops::slice(y, 1, 1, L), holes}, 1), masking.restore);  // [B, N, Dd]
  const Tensor all = ops::cat({ops::slice(y, 1, 0, 1), patches}, 1);
  Context inner = ctx;
  if (ctx.tap) {  // the decoder's blocks have the same numbers as the encoder's
    inner.tap = [tap = ctx.tap](std::string_view name, const Tensor& value) {
      tap("decoder/" + std::string(name), value);
    };
  }
  Tensor x = all + decoder_pos_embed_.to(y.dtype());
  const Positions where = decoder_rope_({{config_.image.grid(), 1}}, ctx);
  for (const Block& block : decoder_blocks_) x = block(x, inner, where);
  return decoder_pred_(decoder_norm_(ops::slice(x, 1, 1, 1 + N), ctx));
}

Tensor Mae::loss(const Tensor& images, const Masking& masking, const Tensor& pixels) const {
  const DType wide = acc_dtype(pixels.dtype());
  const Tensor difference = pixels.to(wide) - PatchTargets(images.to(wide), config_).values();
  const Tensor errors = ops::mean(difference * difference, {2});  // [B, N]
  const std::int64_t hidden = errors.size(0) * (errors.size(1) - config_.kept());
  return ops::sum(errors * masking.hidden.to(wide)) / static_cast<double>(hidden);
}

TokenInfo Mae::tokens() const {
  return {{config_.image.grid(), 1},
          config_.image.patch_size,
          config_.encoder.depth,
          config_.encoder.num_heads,
          true};
}

}  // namespace fovea
