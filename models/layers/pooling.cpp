// The poolings of a classifier.
#include "models/layers/pooling.h"

#include "ops/arithmetic.h"
#include "ops/reduce.h"
#include "ops/view.h"

namespace fovea {

TokenPool::TokenPool(const Scope& s, const EncoderConfig& c, const PoolConfig& pool)
    : config_(pool) {
  if (pool.kind != Pooling::map) return;
  EncoderConfig own = c;  // its MLP is a plain one
  if (c.is_eva()) {
    own.block_fn = BlockKind::block;
    own.act_layer = Activation::gelu;
  }
  if (pool.map_heads > 0) own.num_heads = pool.map_heads;
  if (pool.map_mlp_ratio > 0) own.mlp_ratio = pool.map_mlp_ratio;
  map_.emplace(s, own);
}

std::int64_t TokenPool::needs() const { return config_.kind == Pooling::token ? 1 : kAllTokens; }

Tensor TokenPool::choose(const Tensor& x) const {
  switch (config_.kind) {
    case Pooling::token:
      return ops::select(x, 1, 0);
    case Pooling::none:
      return x;
    default:
      return without_prefix(x, config_.prefix);
  }
}

Tensor TokenPool::operator()(const Tensor& chosen, Context& ctx) const {
  switch (config_.kind) {
    case Pooling::avg:
      return ops::mean(chosen, {1});
    case Pooling::max:
      return ops::amax(chosen, {1});
    case Pooling::avgmax:
      return (ops::amax(chosen, {1}) + ops::mean(chosen, {1})) * 0.5;
    case Pooling::map:
      return (*map_)(chosen, ctx);
    default:
      return chosen;
  }
}

Tensor without_prefix(const Tensor& x, std::int64_t prefix) {
  return prefix == 0 ? x : ops::slice(x, 1, prefix, x.size(1));
}

}  // namespace fovea
