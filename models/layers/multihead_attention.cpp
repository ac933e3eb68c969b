// Projections and heads of PyTorch's multi-head attention.
#include "models/layers/multihead_attention.h"

#include "ops/matmul.h"
#include "ops/view.h"

namespace fovea {

MultiheadAttention::MultiheadAttention(const Scope& s, const MultiheadAttentionConfig& c)
    : config_(c),
      weight_(s.param("in_proj_weight", {3 * c.dim, c.dim}, xavier(c.dim, 3 * c.dim))),
      bias_(s.param("in_proj_bias", {3 * c.dim}, constant(0))),
      out_proj_(s / "out_proj", c.dim, c.dim, xavier(c.dim, c.dim), constant(0)),
      drop_(c.dropout) {}

Branch MultiheadAttention::within(const Tensor& moved, const Tensor& x, const Tensor& bias,
                                  Context& ctx) const {
  const std::int64_t D = config_.dim;
  const Tensor qk = project(moved, 0, 2, ctx);  // [B, N, 2 D]
  return attend_heads(ops::slice(qk, 2, 0, D), ops::slice(qk, 2, D, 2 * D), project(x, 2, 1, ctx),
                      bias, ctx);
}

Branch MultiheadAttention::across(const Tensor& queries, const Tensor& keys, const Tensor& values,
                                  const Tensor& bias, Context& ctx) const {
  return attend_heads(project(queries, 0, 1, ctx), project(keys, 1, 1, ctx),
                      project(values, 2, 1, ctx), bias, ctx);
}

/// The projections [first, first + count) of queries, keys and values: [B, N, D] -> [B, N, count
/// D].
Tensor MultiheadAttention::project(const Tensor& x, std::int64_t first, std::int64_t count,
                                   const Context& ctx) const {
  const std::int64_t begin = first * config_.dim, end = begin + count * config_.dim;
  return ops::linear(x.to(ctx.activations), ops::slice(weight_, 0, begin, end),
                     ops::slice(bias_, 0, begin, end));
}

Branch MultiheadAttention::attend_heads(const Tensor& queries, const Tensor& keys,
                                        const Tensor& values, const Tensor& bias,
                                        Context& ctx) const {
  const Tensor q = split_heads(queries, config_.heads), k = split_heads(keys, config_.heads);
  const Tensor v = split_heads(values, config_.heads);
  if (ctx.tap) {
    ctx.show(config_.tap + "/q", q);
    ctx.show(config_.tap + "/k", k);
    if (bias.defined()) ctx.show(config_.tap + "/bias", bias);
  }
  return out_proj_.branch(join_heads(attend(q, k, v, bias, drop_, ctx)));
}

}  // namespace fovea
