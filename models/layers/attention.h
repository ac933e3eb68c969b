// Multi-head self-attention: softmax(q k^T / sqrt(D)) v per head. One linear layer computes q, k
// and v; ops::self_attention reads them in place and never stores the N x N weights.
#pragma once

#include <cmath>
#include <optional>

#include "models/context.h"
#include "models/layers/dropout.h"
#include "models/layers/linear.h"
#include "models/layers/positions.h"
#include "models/layers/relative_position.h"
#include "ops/arithmetic.h"
#include "ops/attention.h"
#include "ops/matmul.h"
#include "ops/softmax.h"
#include "ops/view.h"

namespace fovea {

struct AttentionConfig {
  std::int64_t dim = 192, heads = 3;
  bool qkv_bias = true;
  RelativePosition relative = RelativePosition::none;
  double attn_drop_rate = 0, proj_drop_rate = 0;
};

/// softmax(q k^T / sqrt(D) + bias) v with dropout of the attention weights. Unlike
/// ops::self_attention it stores these weights. qkv [B, N, 3 H D] -> [B, N, H D]; bias as in
/// ops::self_attention.
[[nodiscard]] inline Tensor attend_with_dropout(const Tensor& qkv, std::int64_t heads,
                                                const Tensor& bias, const Dropout& drop,
                                                Context& ctx) {
  const Tensor q = heads_of(qkv, heads, 0), k = heads_of(qkv, heads, 1);  // [B, H, N, D]
  const double scale = 1 / std::sqrt(static_cast<double>(q.size(3)));
  Tensor scores = ops::matmul(q, k, {.b = true}).to(acc_dtype(qkv.dtype())) * scale;
  if (bias.defined()) scores = scores + bias.to(scores.dtype());  // [B, H, N, N]
  const Tensor weights = drop(ops::softmax(scores), ctx).to(qkv.dtype());
  const Tensor mixed = ops::matmul(weights, heads_of(qkv, heads, 2));  // [B, H, N, D]
  return ops::reshape(ops::permute(mixed, {0, 2, 1, 3}), {qkv.size(0), qkv.size(1), -1});
}

/// Attention branch of a block, [B, N, C] -> [B, N, C]. Head h owns the channels [h D, (h + 1) D),
/// D = C / heads.
class Attention {
 public:
  Attention(const Scope& s, const AttentionConfig& c)
      : heads_(c.heads),
        qkv_(s / "qkv", c.dim, 3 * c.dim, c.qkv_bias),
        proj_(s / "proj", c.dim, c.dim),
        attn_drop_(c.attn_drop_rate),
        proj_drop_(c.proj_drop_rate) {
    check(c.heads > 0 && c.dim % c.heads == 0, "Attention: embed_dim ", c.dim,
          " is not divisible by num_heads ", c.heads);
    if (c.relative != RelativePosition::none)
      relative_.emplace(s.as(Role::position_encoding), c.relative, c.dim / c.heads);
  }

  /// Taps attn/<block>/qkv, and attn/<block>/bias if a bias is added to the logits. Analyses
  /// compute from them the attention weights, which are never stored.
  [[nodiscard]] Branch operator()(const Tensor& x, Context& ctx, std::int64_t block,
                                  const Positions& where = {}) const {
    // [B, N, 3 C]: q, k, v side by side
    const Tensor qkv = block == 0 ? project(x, where.first_qk) : qkv_(x);
    if (ctx.tap) ctx.show("attn/" + std::to_string(block) + "/qkv", qkv);
    const Tensor bias = relative_ ? relative_->logits(heads_of(qkv, heads_, 0), where.grid)
                                  : Tensor();  // [B, H, N, N]
    if (ctx.tap && bias.defined()) ctx.show("attn/" + std::to_string(block) + "/bias", bias);
    return proj_drop_(proj_.branch(mixed(qkv, bias, ctx, where)), ctx);  // [B, N, C]
  }

 private:
  /// The qkv layer. If `qk_embed` is defined, q and k are computed from x + qk_embed, and v from x.
  [[nodiscard]] Tensor project(const Tensor& x, const Tensor& qk_embed) const {
    const Tensor qkv = qkv_(x);
    if (!qk_embed.defined()) return qkv;
    const Tensor moved = qkv_(x + qk_embed.to(x.dtype()));
    const std::int64_t C = x.size(2);
    return ops::cat({ops::slice(moved, 2, 0, 2 * C), ops::slice(qkv, 2, 2 * C, 3 * C)}, 2);
  }

  /// The weighted values [B, N, C], before the output projection.
  [[nodiscard]] Tensor mixed(const Tensor& qkv, const Tensor& bias, Context& ctx,
                             const Positions& where) const {
    if (attn_drop_.drops(ctx)) return attend_with_dropout(qkv, heads_, bias, attn_drop_, ctx);
    return relative_ ? relative_->attend(qkv, heads_, bias, where.grid)
                     : ops::self_attention(qkv, heads_);
  }

  std::int64_t heads_;
  Linear qkv_, proj_;
  Dropout attn_drop_, proj_drop_;
  std::optional<RelativeTables> relative_;
};

}  // namespace fovea
