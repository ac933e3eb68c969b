// Prefix tokens, position embedding and dropout in front of the first block.
#include "models/layers/token_embedding.h"

#include <vector>

#include "ops/arithmetic.h"
#include "ops/dropout.h"
#include "ops/view.h"

namespace fovea {
namespace {

std::optional<LearnedToken> make_token(bool wanted, const Scope& s, std::string_view name,
                                       std::int64_t dim, Decay decay) {
  if (!wanted) return {};
  return LearnedToken(s, name, dim, trunc_normal(0.02), decay);
}

}  // namespace

TokenEmbedding::TokenEmbedding(const Scope& s, const TokenEmbeddingConfig& c,
                               std::array<std::int64_t, 2> grid, std::int64_t dim)
    : config_(c),
      cls_token_(make_token(c.class_token, s.as(Role::token), "cls_token", dim, Decay::no)),
      // Decayed, unlike the class token, as in DeiT's official runs.
      dist_token_(
          make_token(c.distilled, s.as(Role::distillation_token), "dist_token", dim, Decay::yes)),
      reg_token_(c.reg_tokens == 0
                     ? Tensor()
                     : s.as(Role::register_token)
                           .param("reg_token", {1, c.reg_tokens, dim}, normal(1e-6), Decay::no)),
      table_{make_pos_embed(s, c.pos_embed, embedded(grid), dim), c.pos_embed, embedded(grid),
             c.any_size} {}

/// The tokens that the position embedding covers.
TokenGrid TokenEmbedding::embedded(std::array<std::int64_t, 2> grid) const {
  return {grid, config_.no_embed_class ? 0 : config_.prefix()};
}

EmbeddedTokens TokenEmbedding::operator()(const Tensor& patches, std::array<std::int64_t, 2> grid,
                                          Context& ctx) const {
  const Tensor pos = table_.at(embedded(grid), ctx);  // [1, L, D] or [1, N, D]
  const bool adds = pos.defined() && !config_.pos_embed_qk_first;
  Tensor x = patches;                                              // [B, N, D]
  if (adds && config_.no_embed_class) x = x + pos.to(x.dtype());   // [B, N, D]
  x = with_prefix(x);                                              // [B, L, D]
  if (adds && !config_.no_embed_class) x = x + pos.to(x.dtype());  // [B, L, D]
  if (ctx.training && config_.pos_drop_rate > 0) {
    x = ops::dropout(x, config_.pos_drop_rate, ctx.next_key());
  }
  return {x, {{grid, config_.prefix()}, config_.pos_embed_qk_first ? pos : Tensor()}};
}

Tensor TokenEmbedding::with_prefix(const Tensor& patches) const {
  std::vector<Tensor> parts;
  if (cls_token_) parts.push_back(cls_token_->like(patches));
  if (dist_token_) parts.push_back(dist_token_->like(patches));
  if (reg_token_.defined()) {
    parts.push_back(ops::expand(reg_token_.to(patches.dtype()),
                                {patches.size(0), config_.reg_tokens, patches.size(2)}));
  }
  if (parts.empty()) return patches;
  parts.push_back(patches);
  return ops::cat(parts, 1);
}

}  // namespace fovea
