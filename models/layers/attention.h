// Multi-head self-attention. ops::self_attention cuts q, k and v out of one product and never
// stores the N x N weights; spelled out per head it is softmax(q k^T / sqrt(D)) v.
#pragma once

#include "models/context.h"
#include "models/layers/linear.h"
#include "ops/attention.h"

namespace fovea {

/// [B, N, C] -> [B, N, C]; head h owns the channels [h D, (h + 1) D), D = C / heads.
class Attention {
 public:
  Attention(const Scope& s, std::int64_t dim, std::int64_t heads, bool qkv_bias)
      : heads_(heads), qkv_(s / "qkv", dim, 3 * dim, qkv_bias), proj_(s / "proj", dim, dim) {
    check(heads > 0 && dim % heads == 0, "Attention: embed_dim ", dim,
          " is not divisible by num_heads ", heads);
  }

  /// Shows attn/<block>/qkv, from which analyses compute the weights that are never stored.
  [[nodiscard]] Tensor operator()(const Tensor& x, const Context& ctx, std::int64_t block) const {
    const Tensor qkv = qkv_(x);  // [B, N, 3 C]: q, k, v side by side
    if (ctx.tap) ctx.show("attn/" + std::to_string(block) + "/qkv", qkv);
    return proj_(ops::self_attention(qkv, heads_));  // [B, N, C]
  }

 private:
  std::int64_t heads_;
  Linear qkv_, proj_;
};

}  // namespace fovea
