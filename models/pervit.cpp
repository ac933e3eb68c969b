// Forward pass of PerViT, from images to logits.
#include "models/pervit.h"

#include "models/layers/block.h"
#include "models/layers/recompute.h"
#include "ops/arithmetic.h"
#include "ops/conv.h"
#include "ops/reduce.h"

namespace fovea {
namespace {

/// Linear layer where the width changes. It has PyTorch's default initial values, unlike all
/// others.
std::optional<Linear> make_res_path(const Scope& s, const PerViTConfig& c, std::int64_t index) {
  const std::int64_t in = c.width(index), out = c.next_width(index);
  if (in == out) return {};
  return Linear::torch(s, in, out);
}

std::optional<PositionAttention> make_position(const Scope& s, const PerViTConfig& c,
                                               const RelativeEncoding* relative,
                                               std::int64_t index) {
  if (relative == nullptr) return {};
  return PositionAttention(s, c.position, *relative, {index, c.depth()});
}

Scope position_filter(const Scope& block) {
  return block.as(Role::position_encoding) / "conv" / "proj";
}

std::optional<ConvStem> make_stem(const Scope& s, const PerViTConfig& c) {
  if (!c.conv_stem) return {};
  return ConvStem(s, c.convstem_dims);
}

std::optional<PatchEmbed> make_patches(const Scope& s, const PerViTConfig& c) {
  if (c.conv_stem) return {};
  return PatchEmbed(s, c.image, c.emb_dims.front());
}

/// Learned position table. It is decayed, unlike ViT's.
Tensor make_table(const Scope& s, const PerViTConfig& c) {
  if (c.pos_embed != PosEmbed::learned) return {};
  const TokenGrid grid{{c.position.grid, c.position.grid}};
  return s.over(grid).param("pos_embed", {1, c.tokens(), c.emb_dims.front()}, trunc_normal(0.02));
}

std::optional<RelativeEncoding> make_relative(const Scope& s, const PerViTConfig& c) {
  if (!c.phi_p) return {};
  return RelativeEncoding(s, c.position);
}

std::vector<PerViTBlock> make_blocks(const Scope& s, const PerViTConfig& c,
                                     const RelativeEncoding* relative) {
  std::vector<PerViTBlock> blocks;
  for (std::int64_t i = 0; i < c.depth(); ++i) blocks.emplace_back(s.block(i), c, relative, i);
  return blocks;
}

}  // namespace

PerViTBlock::PerViTBlock(const Scope& s, const PerViTConfig& c, const RelativeEncoding* relative,
                         std::int64_t index)
    : index_(index),
      grid_(c.position.grid),
      drop_path_(drop_path_of(c.drop_path, index, c.depth())),
      norm1_(s.as(Role::norm) / "norm1", c.width(index), c.norm_eps),
      res_path_(make_res_path(s / "res_path", c, index)),
      attn_(
          s / "attn", c.width(index), c.position.num_heads, c.phi_c,
          make_position(s.as(Role::position_encoding) / "attn" / "activation", c, relative, index)),
      cpe_weight_(
          c.cpe ? position_filter(s).param("weight", {c.width(index), 1, 3, 3}, torch_default(9))
                : Tensor()),
      cpe_bias_(c.cpe ? position_filter(s).param("bias", {c.width(index)}, torch_default(9))
                      : Tensor()),
      norm2_(s.as(Role::norm) / "norm2", c.width(index), c.norm_eps),
      mlp_(s.as(Role::mlp) / "mlp",
           {.in = c.width(index), .hidden = c.hidden(index), .out = c.next_width(index)}) {}

Tensor PerViTBlock::operator()(const Tensor& x, Context& ctx) {
  // Computed with its tape here, before the block runs: a recomputed block runs without a tape.
  attn_.prepare();
  return run_block(x, ctx, [this](const Tensor& in, Context& c) { return forward(in, c); });
}

Tensor PerViTBlock::forward(Tensor x, Context& ctx) {
  x = x + drop_path_(attn_(norm1_(cpe(x), ctx), ctx, index_), ctx);  // [B, N, D]
  const Tensor resized = res_path_ ? (*res_path_)(x) : x;            // [B, N, D']
  x = resized + drop_path_(mlp_(norm2_(x, ctx), ctx), ctx);          // [B, N, D']
  if (ctx.tap) ctx.show("feat/" + std::to_string(index_), x);
  return x;
}

/// Convolutional position encoding, replacing x: a 3 x 3 filter per channel over the token grid.
Tensor PerViTBlock::cpe(const Tensor& x) const {
  if (!cpe_weight_.defined()) return x;
  return ops::depthwise_tokens(x, cpe_weight_, cpe_bias_, {.grid = {grid_, grid_}, .padding = 1});
}

PerViT::PerViT(ModelInfo info, const PerViTConfig& c, std::uint64_t seed, TensorOptions options)
    : Classifier(std::move(info), seed, options),
      config_(c),
      stem_(make_stem(at("conv_layers", Role::patches), c)),
      patch_embed_(make_patches(at("patch_embed", Role::patches), c)),
      pos_embed_(make_table(top().as(Role::position_table), c)),
      relative_(make_relative(top().as(Role::position_encoding), c)),
      blocks_(make_blocks(at("blocks"), c, relative_ ? &*relative_ : nullptr)),
      norm_(at("norm", Role::norm), c.emb_dims.back(), c.norm_eps),
      head_(at("head", Role::head), c.emb_dims.back(), {c.num_classes}) {}

/// images [B, C, H, W] -> class logits [B, K].
ClassifierOutput PerViT::forward(const Tensor& images, Context& ctx) {
  const Tensor pooled = ops::mean(patch_tokens(images, ctx).values, {1});  // [B, D]
  return {head_(pooled, ctx), {}};                                         // [B, K]
}

PatchTokens PerViT::patch_tokens(const Tensor& images, Context& ctx) {
  Tensor x = embed(images, ctx);                         // [B, N, D_0]
  for (PerViTBlock& block : blocks_) x = block(x, ctx);  // [B, N, D_i]
  return {norm_(x), {config_.position.grid, config_.position.grid}};
}

/// images [B, C, H, W] -> [B, N, D]: stem or patch embedding, plus learned positions if any.
Tensor PerViT::embed(const Tensor& images, Context& ctx) const {
  const auto [height, width] = config_.image.img_size;
  check(images.rank() == 4 && images.size(1) == config_.image.in_chans &&
            images.size(2) == height && images.size(3) == width,
        "PerViT: got images ", images.shape(), ", expected [B, ", config_.image.in_chans, ", ",
        height, ", ", width, "]");
  Tensor x = stem_ ? (*stem_)(images, ctx) : (*patch_embed_)(images, ctx);  // [B, N, D]
  if (pos_embed_.defined()) x = x + pos_embed_.to(x.dtype());
  ctx.show("feat/embed", x);
  return x;
}

TokenInfo PerViT::tokens() const {
  const std::int64_t side = config_.position.grid;
  return {{{side, side}, 0}, config_.stride(), config_.depth(), config_.position.num_heads};
}

void PerViT::finish_backward() {
  for (PerViTBlock& block : blocks_) block.finish_backward();
}

void PerViT::abandon_step() {
  for (PerViTBlock& block : blocks_) block.abandon_step();
}

PositionGate position_gate(const Model& model, std::int64_t block) {
  const std::string norm = "blocks." + std::to_string(block) + ".attn.activation.gn2.";
  return {model.store().find(norm + "weight"), model.store().find(norm + "bias")};
}

}  // namespace fovea
