// Multi-head self-attention (Vaswani et al. 2017): softmax(q k^T / sqrt(D)) v in each head. For the
// queries, keys and values q, k, v [B, H, N, D] of all heads this is
//
//   scores = ops::matmul(q, k, {.b = true}) * (1 / std::sqrt(D));  // q k^T / sqrt(D), [B, H, N, N]
//   heads = ops::matmul(ops::softmax(scores), v);                  // [B, H, N, D]
//
// The fused op computes the same without storing the N x N weights (ops/attention.h).
#pragma once

#include <memory>

#include "models/layers/attention_heads.h"
#include "models/layers/dropout.h"
#include "models/layers/linear.h"
#include "models/layers/norm.h"
#include "models/layers/qkv.h"

namespace fovea {

struct AttentionConfig {
  HeadsConfig heads;
  QkvConfig qkv;
  bool proj_bias = true;
  double proj_scale = 1;                 ///< factor of the output layer's initial weight
  NormKind scale_norm = NormKind::none;  ///< normalise the concatenated heads
  double proj_drop_rate = 0;
};

/// Attention branch of a block, [B, N, C] -> [B, N, C] with C = H D.
class Attention {
 public:
  Attention(const Scope& s, const AttentionConfig& c)
      : qkv_(s, c.qkv),
        heads_(make_heads(s, c.heads)),
        norm_(s.as(Role::norm) / "norm", c.heads.dim, {c.heads.norm_eps, c.scale_norm}),
        proj_(Linear::scaled(s / "proj", {c.heads.dim, c.heads.dim}, c.proj_bias, c.proj_scale)),
        proj_drop_(c.proj_drop_rate) {}

  [[nodiscard]] Branch operator()(const Tensor& x, Context& ctx,
                                  const Positions& where = {}) const {
    const Tensor qkv = qkv_(x, where.first_qk);       // [B, N, 3 C]
    return project((*heads_)(qkv, ctx, where), ctx);  // [B, N, C]
  }

  /// The branch from the concatenated heads of n tokens, [B, n, C].
  [[nodiscard]] Branch project(const Tensor& heads, Context& ctx) const {
    return proj_drop_(proj_.branch(norm_(heads)), ctx);
  }
  [[nodiscard]] const Qkv& qkv() const { return qkv_; }
  [[nodiscard]] const AttentionHeads& heads() const { return *heads_; }

 private:
  Qkv qkv_;
  std::unique_ptr<AttentionHeads> heads_;
  Norm norm_;
  Linear proj_;
  Dropout proj_drop_;
};

}  // namespace fovea
