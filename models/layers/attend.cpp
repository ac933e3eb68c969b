// Attention through the fused op, or with stored weights where they are dropped.
#include "models/layers/attend.h"

#include <cmath>

#include "ops/arithmetic.h"
#include "ops/attention.h"
#include "ops/matmul.h"
#include "ops/softmax.h"
#include "ops/view.h"

namespace fovea {

Tensor attend(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& bias,
              const Dropout& drop, Context& ctx) {
  if (!drop.drops(ctx)) return ops::attention(q, k, v, bias);
  const double scale = 1 / std::sqrt(static_cast<double>(q.size(3)));
  Tensor scores = ops::matmul(q, k, {.b = true}).to(acc_dtype(q.dtype())) * scale;
  if (bias.defined()) scores = scores + bias.to(scores.dtype());  // [B, H, N, M]
  return ops::matmul(drop(ops::softmax(scores), ctx).to(q.dtype()), v);
}

Tensor rotated(const Tensor& x, const ops::Rotation& rotation) {
  return rotation.defined() ? ops::rotate(x, rotation) : x;
}

Tensor rotated_qkv(const Tensor& qkv, std::int64_t heads, const ops::Rotation& rotation) {
  if (!rotation.defined()) return qkv;
  const std::int64_t C = qkv.size(2) / 3;
  const auto part = [&](std::int64_t i) { return ops::slice(qkv, 2, i * C, (i + 1) * C); };
  const auto turned = [&](std::int64_t i) {
    return join_heads(ops::rotate(split_heads(part(i), heads), rotation));
  };
  return ops::cat({turned(0), turned(1), part(2)}, 2);
}

Tensor split_heads(const Tensor& x, std::int64_t heads) {
  return ops::permute(ops::reshape(x, {x.size(0), x.size(1), heads, -1}), {0, 2, 1, 3});
}

Tensor join_heads(const Tensor& heads) {
  return ops::reshape(ops::permute(heads, {0, 2, 1, 3}), {heads.size(0), heads.size(2), -1});
}

}  // namespace fovea
