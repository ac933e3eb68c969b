// Multi-head self-attention: softmax(q k^T / sqrt(D)) v per head, or another form of heads. One
// linear layer computes q, k and v; the N x N weights are not stored.
#pragma once

#include <memory>

#include "models/layers/attention_heads.h"
#include "models/layers/linear.h"
#include "ops/arithmetic.h"
#include "ops/view.h"

namespace fovea {

struct AttentionConfig {
  HeadsConfig heads;
  bool qkv_bias = true, proj_bias = true;
  NormKind scale_norm = NormKind::none;  ///< normalise the concatenated heads
  double proj_drop_rate = 0;
};

/// Attention branch of a block, [B, N, C] -> [B, N, C].
class Attention {
 public:
  Attention(const Scope& s, const AttentionConfig& c)
      : first_(c.heads.block == 0),
        qkv_(s / "qkv", c.heads.dim, 3 * c.heads.dim, c.qkv_bias),
        heads_(make_heads(s, c.heads)),
        norm_(s.as(Role::norm) / "norm", c.heads.dim, {c.heads.norm_eps, c.scale_norm}),
        proj_(s / "proj", c.heads.dim, c.heads.dim, c.proj_bias),
        proj_drop_(c.proj_drop_rate) {}

  [[nodiscard]] Branch operator()(const Tensor& x, Context& ctx,
                                  const Positions& where = {}) const {
    const Tensor qkv = first_ ? project(x, where.first_qk) : qkv_(x);  // [B, N, 3 C]
    return proj_drop_(proj_.branch(norm_((*heads_)(qkv, ctx, where))), ctx);
  }

  /// Whether first() gives the same tokens as the branch of all.
  [[nodiscard]] bool takes_few_queries(const Context& ctx) const {
    return !first_ && !proj_drop_.drops(ctx) && heads_->takes_few_queries(ctx);
  }
  /// The branch of the first `count` tokens, [B, N, C] -> [B, count, C]. The other tokens have
  /// only keys and values.
  [[nodiscard]] Branch first(const Tensor& x, std::int64_t count) const {
    const std::int64_t C = x.size(2);
    const Tensor q = part_of_qkv(ops::slice(x, 1, 0, count), 0, C);  // [B, count, C]
    const Tensor kv = part_of_qkv(x, C, 3 * C);                      // [B, N, 2 C]
    return proj_.branch(norm_(heads_->few_queries(q, kv)));
  }

 private:
  /// Outputs [start, stop) of the qkv layer.
  [[nodiscard]] Tensor part_of_qkv(const Tensor& x, std::int64_t start, std::int64_t stop) const {
    const Tensor& bias = qkv_.bias();
    return ops::linear(x, ops::slice(qkv_.weight(), 0, start, stop),
                       bias.defined() ? ops::slice(bias, 0, start, stop) : bias);
  }
  /// The qkv layer. If `qk_embed` is defined, q and k are computed from x + qk_embed, and v from x.
  [[nodiscard]] Tensor project(const Tensor& x, const Tensor& qk_embed) const {
    const Tensor qkv = qkv_(x);
    if (!qk_embed.defined()) return qkv;
    const Tensor moved = qkv_(x + qk_embed.to(x.dtype()));
    const std::int64_t C = x.size(2);
    return ops::cat({ops::slice(moved, 2, 0, 2 * C), ops::slice(qkv, 2, 2 * C, 3 * C)}, 2);
  }

  bool first_;
  Linear qkv_;
  std::unique_ptr<AttentionHeads> heads_;
  Norm norm_;
  Linear proj_;
  Dropout proj_drop_;
};

}  // namespace fovea
