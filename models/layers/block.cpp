// Blocks whose attention precedes the MLP, and the rates of stochastic depth.
#include "models/layers/block.h"

#include "engine/autograd.h"
#include "models/layers/layer_scale.h"
#include "models/layers/parallel_block.h"
#include "models/layers/recompute.h"
#include "ops/arithmetic.h"
#include "ops/view.h"

namespace fovea {
namespace {

/// Attention of the first `count` tokens to all: [B, L, D] -> [B, count, D]. The other tokens have
/// only keys and values.
Branch attend_first(const Attention& attn, const Tensor& x, std::int64_t count, Context& ctx,
                    const Positions& where) {
  const Tensor q = attn.qkv().queries(ops::slice(x, 1, 0, count));  // [B, count, D]
  const Tensor kv = attn.qkv().keys_values(x);                      // [B, L, 2 D]
  return attn.project(attn.heads().few_queries(q, kv, where), ctx);
}

/// The layer scale of a block's first or second branch: "ls1.gamma", or "gamma_1" as in timm's Eva.
LayerScale make_layer_scale(const Scope& s, const EncoderConfig& c, int branch) {
  const std::string number = std::to_string(branch);
  if (!c.is_eva()) return {s / ("ls" + number), c.embed_dim, c.init_values};
  const bool wanted = branch == 1 || !c.eva.attn_only_layer_scale;
  return {s, c.embed_dim, wanted ? c.init_values : 0, "gamma_" + number};
}

/// Equations (2) and (3) of Dosovitskiy et al. 2020, MSA and MLP with layer scale and drop path:
/// z' = MSA(LN(z)) + z, then MLP(LN(z')) + z'.
class PreNormBlock : public BlockForm {
 public:
  PreNormBlock(const Scope& s, const EncoderConfig& c, std::int64_t index)
      : is_first_(index == 0),
        drop_path_(drop_path_of(c.drop_path, index, c.depth)),
        norm1_(s.as(Role::norm) / "norm1", c.embed_dim, c.norm()),
        attn_(s.as(Role::attention) / "attn", c.attention_of(index)),
        ls1_(make_layer_scale(s, c, 1)),
        norm2_(s.as(Role::norm) / "norm2", c.embed_dim, c.norm()),
        mlp_(s.as(Role::mlp) / "mlp", c.mlp_of(index)),
        ls2_(make_layer_scale(s, c, 2)) {}

  [[nodiscard]] Tensor operator()(Tensor x, Context& ctx, const Positions& where) const override {
    x = x + drop_path_(ls1_(attn_(norm1_(x, ctx), ctx, where)), ctx);  // (2) [B, L, D]
    return x + drop_path_(ls2_(mlp_(norm2_(x, ctx), ctx)), ctx);       // (3) [B, L, D]
  }

  [[nodiscard]] Tensor first(Tensor x, std::int64_t count, Context& ctx,
                             const Positions& where) const override {
    if (!takes_few_queries(ctx)) return BlockForm::first(std::move(x), count, ctx, where);
    Tensor read = ops::slice(x, 1, 0, count);  // [B, count, D]
    read = read + drop_path_(ls1_(attend_first(attn_, norm1_(x, ctx), count, ctx, where)), ctx);
    return read + drop_path_(ls2_(mlp_(norm2_(read, ctx), ctx)), ctx);
  }

 private:
  /// Whether the first tokens are the same without the queries of the others. Not in block 0, where
  /// positions may move queries and keys, and not with dropout, whose masks are drawn for all
  /// tokens. The MLP has the dropout rate of attention's output.
  [[nodiscard]] bool takes_few_queries(const Context& ctx) const {
    return !is_first_ && !mlp_.drops(ctx) && attn_.qkv().is_fused() &&
           attn_.heads().takes_few_queries(ctx);
  }

  bool is_first_;
  DropPath drop_path_;
  Norm norm1_;
  Attention attn_;
  LayerScale ls1_;
  Norm norm2_;
  Mlp mlp_;
  LayerScale ls2_;
};

/// x + norm(attention(x)), then x + norm(mlp(x)).
class PostNormBlock : public BlockForm {
 public:
  PostNormBlock(const Scope& s, const EncoderConfig& c, std::int64_t index)
      : drop_path_(drop_path_of(c.drop_path, index, c.depth)),
        attn_(s.as(Role::attention) / "attn", c.attention_of(index)),
        norm1_(s.as(Role::norm) / "norm1", c.embed_dim, norm_of(c)),
        mlp_(s.as(Role::mlp) / "mlp", c.mlp_of(index)),
        norm2_(s.as(Role::norm) / "norm2", c.embed_dim, norm_of(c)) {}

  [[nodiscard]] Tensor operator()(Tensor x, Context& ctx, const Positions& where) const override {
    x = x + drop_path_(attn_(x.to(ctx.activations), ctx, where).then(norm1_), ctx);  // [B, L, D]
    return x + drop_path_(mlp_(x.to(ctx.activations), ctx).then(norm2_), ctx);       // [B, L, D]
  }

 private:
  static NormConfig norm_of(const EncoderConfig& c) {
    return {c.norm_eps, c.norm_layer, c.init_values == 0 || c.is_eva() ? 1 : c.init_values};
  }

  DropPath drop_path_;
  Attention attn_;
  Norm norm1_;
  Mlp mlp_;
  Norm norm2_;
};

using PlacedBlockFn = std::function<Tensor(const Tensor& x, Context& ctx, const Positions& own)>;

/// run_block() of a block and its positions. A rotary table that is learned is an input, too.
Tensor run_block(const Tensor& x, Context& ctx, Positions own, const PlacedBlockFn& block) {
  const Tensor table = own.rotation.table;
  if (!table.defined() || !needs_tape({table})) {
    return fovea::run_block(
        x, ctx, [block, own](const Tensor& in, Context& c) { return block(in, c, own); });
  }
  own.rotation.table = {};
  return fovea::run_block(x, table, ctx,
                          [block, own](const Tensor& in, const Tensor& shared, Context& c) {
                            Positions where = own;
                            where.rotation.table = shared;
                            return block(in, c, where);
                          });
}

std::unique_ptr<BlockForm> make_form(const Scope& s, const EncoderConfig& c, std::int64_t index) {
  switch (c.block_fn) {
    case BlockKind::res_post:
    case BlockKind::eva_post:
      return std::make_unique<PostNormBlock>(s, c, index);
    case BlockKind::parallel_scaling:
    case BlockKind::diff_parallel_scaling:
      return std::make_unique<ParallelScalingBlock>(s, c, index);
    case BlockKind::parallel_things:
      return std::make_unique<ParallelThingsBlock>(s, c, index);
    default:
      return std::make_unique<PreNormBlock>(s, c, index);
  }
}

}  // namespace

Tensor BlockForm::first(Tensor x, std::int64_t count, Context& ctx, const Positions& where) const {
  return ops::slice((*this)(std::move(x), ctx, where), 1, 0, count);
}

double drop_path_of(double last, std::int64_t index, std::int64_t depth) {
  return depth <= 1 ? 0 : last * static_cast<double>(index) / static_cast<double>(depth - 1);
}

Block::Block(const Scope& s, const EncoderConfig& c, std::int64_t index)
    : index_(index), form_(make_form(s, c, index)) {}

Tensor Block::operator()(const Tensor& x, Context& ctx, const Positions& where) const {
  return run_block(x, ctx, where.of_block(index_),
                   [this](const Tensor& in, Context& c, const Positions& own) {
                     const Tensor out = (*form_)(in, c, own);
                     if (c.tap) c.show("feat/" + std::to_string(index_), out);
                     return out;
                   });
}

Tensor Block::first(const Tensor& x, std::int64_t count, Context& ctx,
                    const Positions& where) const {
  if (count == kAllTokens) return (*this)(x, ctx, where);
  if (ctx.tap) return ops::slice((*this)(x, ctx, where), 1, 0, count);
  return run_block(x, ctx, where.of_block(index_),
                   [this, count](const Tensor& in, Context& c, const Positions& own) {
                     return form_->first(in, count, c, own);
                   });
}

std::vector<Block> make_blocks(const Scope& s, const EncoderConfig& c) {
  std::vector<Block> blocks;
  for (std::int64_t i = 0; i < c.depth; ++i) blocks.emplace_back(s.block(i), c, i);
  return blocks;
}

Tensor run_blocks(const std::vector<Block>& blocks, Tensor x, std::int64_t count, Context& ctx,
                  const Positions& where) {
  for (const Block& block : blocks) {
    x = &block == &blocks.back() ? block.first(x, count, ctx, where) : block(x, ctx, where);
  }
  return x;
}

}  // namespace fovea
