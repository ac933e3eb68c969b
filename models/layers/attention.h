// Multi-head self-attention. ops::self_attention cuts q, k and v out of one product and never
// stores the N x N weights; spelled out per head it is softmax(q k^T / sqrt(D)) v.
#pragma once

#include <optional>

#include "models/context.h"
#include "models/layers/linear.h"
#include "models/layers/positions.h"
#include "models/layers/relative_position.h"
#include "ops/arithmetic.h"
#include "ops/attention.h"
#include "ops/view.h"

namespace fovea {

struct AttentionConfig {
  std::int64_t dim = 192, heads = 3;
  bool qkv_bias = true;
  RelativePosition relative = RelativePosition::none;
};

/// A branch of a block, [B, N, C] -> [B, N, C]; head h owns the channels [h D, (h + 1) D), D = C /
/// heads.
class Attention {
 public:
  Attention(const Scope& s, const AttentionConfig& c)
      : heads_(c.heads),
        qkv_(s / "qkv", c.dim, 3 * c.dim, c.qkv_bias),
        proj_(s / "proj", c.dim, c.dim) {
    check(c.heads > 0 && c.dim % c.heads == 0, "Attention: embed_dim ", c.dim,
          " is not divisible by num_heads ", c.heads);
    if (c.relative != RelativePosition::none)
      relative_.emplace(s.as(Role::position_encoding), c.relative, c.dim / c.heads);
  }

  /// Shows attn/<block>/qkv, and attn/<block>/bias where something is added to the logits: from
  /// these, analyses compute the weights that are never stored.
  [[nodiscard]] Branch operator()(const Tensor& x, const Context& ctx, std::int64_t block,
                                  const Positions& where = {}) const {
    // [B, N, 3 C]: q, k, v side by side
    const Tensor qkv = block == 0 ? project(x, where.first_qk) : qkv_(x);
    if (ctx.tap) ctx.show("attn/" + std::to_string(block) + "/qkv", qkv);
    if (!relative_) return proj_.branch(ops::self_attention(qkv, heads_));        // [B, N, C]
    const Tensor bias = relative_->logits(heads_of(qkv, heads_, 0), where.grid);  // [B, H, N, N]
    if (ctx.tap) ctx.show("attn/" + std::to_string(block) + "/bias", bias);
    return proj_.branch(relative_->attend(qkv, heads_, bias, where.grid));  // [B, N, C]
  }

 private:
  [[nodiscard]] Tensor project(const Tensor& x, const Tensor& qk_embed) const {
    const Tensor qkv = qkv_(x);
    if (!qk_embed.defined()) return qkv;
    const Tensor moved = qkv_(x + qk_embed.to(x.dtype()));
    const std::int64_t C = x.size(2);
    return ops::cat({ops::slice(moved, 2, 0, 2 * C), ops::slice(qkv, 2, 2 * C, 3 * C)}, 2);
  }

  std::int64_t heads_;
  Linear qkv_, proj_;
  std::optional<RelativeTables> relative_;
};

}  // namespace fovea
