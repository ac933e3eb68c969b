// ViT: from images to logits.
#include "models/vit.h"

#include "models/layers/recompute.h"
#include "models/permutation.h"
#include "ops/arithmetic.h"
#include "ops/dropout.h"
#include "ops/index.h"
#include "ops/reduce.h"
#include "ops/view.h"

namespace fovea {
namespace {

Tensor make_cls_token(const Scope& s, const ViTConfig& c) {
  if (!c.class_token) return {};
  return s.as(Role::token)
      .param("cls_token", {1, 1, c.encoder.embed_dim}, trunc_normal(0.02), Decay::no);
}

LayerNorm make_norm(const Scope& s, const ViTConfig& c) {
  const Scope place = c.fc_norm ? s.as(Role::pooled_norm) / "fc_norm" : s.as(Role::norm) / "norm";
  return LayerNorm(place, c.encoder.embed_dim, c.encoder.norm_eps);
}

Tensor make_perm(const Scope& s, const ViTConfig& c) {
  if (!c.permutation) return {};
  const auto [height, width] = c.image.img_size;
  const PermutationConfig drawn{c.image.img_size, c.permute_T, c.permute_delta,
                                static_cast<std::uint64_t>(c.permute_seed)};
  return s.buffer("perm", {height * width}, permutation_of(drawn), DType::i64);
}

}  // namespace

ViT::ViT(ModelInfo info, const ViTConfig& c, std::uint64_t seed, TensorOptions options)
    : Model(std::move(info), seed, options),
      config_(c),
      perm_(make_perm(Scope(store()), c)),
      cls_token_(make_cls_token(Scope(store()), c)),
      pos_embed_(make_pos_embed(Scope(store()), c.pos_embed, c.embedded(c.token_grid()),
                                c.encoder.embed_dim)),
      patch_embed_(Scope(store()).as(Role::patches) / "patch_embed", c.image, c.encoder.embed_dim),
      blocks_(make_blocks(Scope(store()) / "blocks", c.encoder)),
      norm_(make_norm(Scope(store()), c)) {
  if (c.num_classes > 0)
    head_.emplace(Scope(store()).as(Role::head) / "head", c.encoder.embed_dim, c.num_classes,
                  c.head_batch_norm);
}

/// images [B, C, H, W] -> class logits [B, K].
ModelOutput ViT::forward(const Tensor& images, Context& ctx) {
  const Tensor patches = patch_embed_(permute_pixels(images), ctx);  // [B, N, D]
  const TokenGrid grid{config_.image.grid_of(images), config_.prefix()};
  const PositionTable table{pos_embed_, config_.pos_embed, config_.embedded(config_.token_grid())};
  const Tensor pos = table.at(config_.embedded(grid), ctx);  // [1, L, D]
  const bool first_only = config_.pos_embed_qk_first;
  Tensor x = embed(patches, first_only ? Tensor() : pos, ctx);  // [B, L, D]
  Positions where{grid, first_only ? pos : Tensor()};
  for (const Block& block : blocks_) {
    x = run_block(x, ctx, [&block, where](const Tensor& in, Context& c) {
      return block(in, c, where);
    });                   // [B, L, D]
    where.qk_embed = {};  // of the first block only
  }
  const Tensor pooled = pool(x);                        // [B, D]
  return {head_ ? (*head_)(pooled, ctx) : pooled, {}};  // [B, K]
}

/// patches [B, N, D] -> [B, L, D]: the class token before them, pos_embed added where there is one.
Tensor ViT::embed(const Tensor& patches, const Tensor& pos_embed, Context& ctx) const {
  Tensor x = patches;
  const Tensor pos = pos_embed.defined() ? pos_embed.to(x.dtype()) : Tensor();
  if (pos.defined() && config_.no_embed_class) x = x + pos;  // [B, N, D]
  if (cls_token_.defined()) {
    const Tensor cls = ops::expand(cls_token_.to(x.dtype()), {x.size(0), 1, x.size(2)});
    x = ops::cat({cls, x}, 1);  // [B, 1 + N, D]
  }
  if (pos.defined() && !config_.no_embed_class) x = x + pos;  // [B, L, D]
  if (ctx.training && config_.pos_drop_rate > 0) {
    x = ops::dropout(x, config_.pos_drop_rate, ctx.next_key());
  }
  ctx.show("feat/embed", x);
  return x;
}

/// x [B, L, D] -> [B, D]. A token's norm depends on that token alone, so only the class token's is
/// computed when nothing else is read.
Tensor ViT::pool(const Tensor& x) const {
  if (config_.global_pool == Pooling::token) return norm_(ops::select(x, 1, 0));
  const Tensor patches = ops::slice(x, 1, config_.prefix(), x.size(1));  // [B, N, D]
  return config_.fc_norm ? norm_(ops::mean(patches, {1})) : ops::mean(norm_(patches), {1});
}

/// x'[i] = x[perm[i]] over the H W pixels, all channels alike.
Tensor ViT::permute_pixels(const Tensor& images) const {
  if (!perm_.defined() || images.rank() != 4) return images;
  const auto [height, width] = config_.image.img_size;
  check(images.size(2) == height && images.size(3) == width, "ViT: got images ", images.shape(),
        ", expected the ", height, " x ", width, " pixels that are permuted");
  const Tensor pixels = ops::reshape(images, {images.size(0), images.size(1), -1});  // [B, C, H W]
  return ops::reshape(ops::index_select(pixels, 2, perm_), images.shape());
}

TokenInfo ViT::tokens() const {
  return {config_.token_grid(), config_.image.patch_size, config_.encoder.depth,
          config_.encoder.num_heads};
}

}  // namespace fovea
