// Queries, keys and values: all of them, moved by positions, or some alone.
#include "models/layers/qkv.h"

#include "ops/arithmetic.h"
#include "ops/view.h"

namespace fovea {

Tensor Qkv::operator()(const Tensor& x, const Tensor& qk_embed) const {
  const Tensor qkv = linear_(x);
  if (!qk_embed.defined()) return qkv;
  const Tensor moved = linear_(x + qk_embed.to(x.dtype()));
  return ops::cat({ops::slice(moved, 2, 0, 2 * dim_), ops::slice(qkv, 2, 2 * dim_, 3 * dim_)}, 2);
}

Tensor Qkv::part(const Tensor& x, std::int64_t start, std::int64_t stop) const {
  const Tensor& bias = linear_.bias();
  return ops::linear(x, ops::slice(linear_.weight(), 0, start, stop),
                     bias.defined() ? ops::slice(bias, 0, start, stop) : bias);
}

}  // namespace fovea
