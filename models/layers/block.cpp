// Forward pass of the transformer block, and its rate of stochastic depth.
#include "models/layers/block.h"

#include "models/layers/recompute.h"
#include "ops/arithmetic.h"

namespace fovea {

double drop_path_of(double last, std::int64_t index, std::int64_t depth) {
  return depth <= 1 ? 0 : last * static_cast<double>(index) / static_cast<double>(depth - 1);
}

Block::Block(const Scope& s, const EncoderConfig& c, std::int64_t index)
    : index_(index),
      drop_path_(drop_path_of(c.drop_path, index, c.depth)),
      norm1_(s.as(Role::norm) / "norm1", c.embed_dim, c.norm_eps),
      attn_(s.as(Role::attention) / "attn",
            {c.embed_dim, c.num_heads, c.qkv_bias, c.relative, c.attn_drop_rate, c.proj_drop_rate}),
      norm2_(s.as(Role::norm) / "norm2", c.embed_dim, c.norm_eps),
      mlp_(s.as(Role::mlp) / "mlp", {c.embed_dim, c.hidden(), c.embed_dim}, c.proj_drop_rate) {}

Tensor Block::operator()(const Tensor& x, Context& ctx, const Positions& where) const {
  return run_block(x, ctx,
                   [this, where](const Tensor& in, Context& c) { return forward(in, c, where); });
}

Tensor Block::forward(Tensor x, Context& ctx, const Positions& where) const {
  x = x + drop_path_(attn_(norm1_(x, ctx), ctx, index_, where), ctx);  // [B, L, D]
  x = x + drop_path_(mlp_(norm2_(x, ctx), ctx), ctx);                  // [B, L, D]
  if (ctx.tap) ctx.show("feat/" + std::to_string(index_), x);
  return x;
}

std::vector<Block> make_blocks(const Scope& s, const EncoderConfig& c) {
  std::vector<Block> blocks;
  for (std::int64_t i = 0; i < c.depth; ++i) blocks.emplace_back(s.block(i), c, i);
  return blocks;
}

}  // namespace fovea
