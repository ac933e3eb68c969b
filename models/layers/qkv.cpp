// Queries, keys and values: all of them, moved by positions, or some alone.
#include "models/layers/qkv.h"

#include "ops/arithmetic.h"
#include "ops/view.h"

namespace fovea {

Qkv::Qkv(const Scope& attn, const QkvConfig& c) : config_(c) {
  const std::int64_t D = c.dim, kv = c.dim / c.heads * c.kv_heads;
  const bool all = c.biases == QkvBias::all;
  if (!c.fused) {
    q_.emplace(attn / "q_proj", D, D, c.bias);
    k_.emplace(attn / "k_proj", D, kv, c.bias && all);
    v_.emplace(attn / "v_proj", D, kv, c.bias);
    return;
  }
  const Linear fused(attn / "qkv", D, 3 * D, c.bias && all);
  weight_ = fused.weight();
  bias_ = fused.bias();
  if (!c.bias || all) return;
  q_bias_ = attn.param("q_bias", {D}, constant(0));
  v_bias_ = attn.param("v_bias", {D}, constant(0));
}

Tensor Qkv::operator()(const Tensor& x, const Tensor& qk_embed) const {
  const Tensor qkv = project(x);
  if (!qk_embed.defined()) return qkv;
  const std::int64_t D = config_.dim;
  const Tensor moved = project(x + qk_embed.to(x.dtype()));
  return ops::cat({ops::slice(moved, 2, 0, 2 * D), ops::slice(qkv, 2, 2 * D, 3 * D)}, 2);
}

Tensor Qkv::project(const Tensor& x) const {
  if (config_.fused) return ops::linear(x, weight_, fused_bias());
  return ops::cat({(*q_)(x), repeated((*k_)(x)), repeated((*v_)(x))}, 2);
}

Tensor Qkv::fused_bias() const {
  if (!q_bias_.defined()) return bias_;
  return ops::cat({q_bias_, zeros(q_bias_.shape(), q_bias_.options()), v_bias_}, 0);
}

Tensor Qkv::repeated(const Tensor& x) const {
  const std::int64_t groups = config_.heads / config_.kv_heads;
  if (groups == 1) return x;
  const std::int64_t B = x.size(0), N = x.size(1), d = config_.dim / config_.heads;
  const Tensor heads = ops::reshape(x, {B, N, config_.kv_heads, 1, d});
  return ops::reshape(ops::expand(heads, {B, N, config_.kv_heads, groups, d}), {B, N, config_.dim});
}

Tensor Qkv::part(const Tensor& x, std::int64_t start, std::int64_t stop) const {
  const Tensor bias = fused_bias();
  return ops::linear(x, ops::slice(weight_, 0, start, stop),
                     bias.defined() ? ops::slice(bias, 0, start, stop) : bias);
}

}  // namespace fovea
