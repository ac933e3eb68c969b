// Relative positions: bucket indices of token pairs, and the products with the tables.
#include "models/layers/relative_position.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "models/layers/attend.h"
#include "ops/arithmetic.h"
#include "ops/attention.h"
#include "ops/matmul.h"
#include "ops/relative.h"
#include "ops/softmax.h"
#include "ops/view.h"

namespace fovea {
namespace {

constexpr std::int64_t kReach = 8, kSpan = 2 * kReach + 1;  // rpe2d: offsets -8 .. 8 of an axis
constexpr std::int64_t kSteps = 7;                          // irpe: g gives -3 .. 3
constexpr std::int64_t kOfPrefix = kSteps * kSteps;         // irpe: the last of 50 buckets

/// iRPE's g: 0, 1, 2, 2 for |t| = 0, 1, 2, 3, then 3 from 4 on.
std::int64_t piecewise(std::int64_t t) {
  constexpr double alpha = 1.9, beta = 3.8, gamma = 15.2;
  const double distance = std::abs(static_cast<double>(t));
  if (distance <= alpha) return t;
  const double part = std::log(distance / alpha) / std::log(gamma / alpha);
  const double step = std::min(beta, std::round(alpha + part * (beta - alpha)));
  return static_cast<std::int64_t>(t < 0 ? -step : step);
}

/// Calls pair(flat index i L + j, y_j - y_i, x_j - x_i) for all pairs of patches.
template <class Pair>
void for_each_pair(const TokenGrid& grid, const Pair& pair) {
  const std::int64_t width = grid.size[1], L = grid.tokens();
  for (std::int64_t i = 0; i < grid.patches(); ++i) {
    for (std::int64_t j = 0; j < grid.patches(); ++j) {
      pair((grid.prefix + i) * L + grid.prefix + j, j / width - i / width, j % width - i % width);
    }
  }
}

Tensor make_buckets(RelativePosition kind, const TokenGrid& grid) {
  const std::int64_t L = grid.tokens(), kinds = kind == RelativePosition::rpe2d ? 2 : 1;
  const Tensor buckets = full({kinds, L, L}, kinds == 2 ? -1 : kOfPrefix, {DType::i64, {}});
  auto* const first = buckets.data<std::int64_t>();
  for_each_pair(grid, [&](std::int64_t at, std::int64_t dy, std::int64_t dx) {
    if (kinds == 1) {
      first[at] = (piecewise(-dy) + 3) * kSteps + piecewise(-dx) + 3;
      return;
    }
    first[at] = std::clamp(dy, -kReach, kReach) + kReach;
    first[L * L + at] = kSpan + std::clamp(dx, -kReach, kReach) + kReach;
  });
  return buckets;
}

double scale_of(const Tensor& q) { return 1 / std::sqrt(static_cast<double>(q.size(3))); }

}  // namespace

Tensor relative_buckets(RelativePosition kind, const TokenGrid& grid, Device device) {
  struct Last {
    RelativePosition kind = RelativePosition::none;
    TokenGrid grid;
    Tensor buckets;
  };
  // Trivially destructible: a destructor that computes may run after the thread's other objects.
  thread_local Last* last = nullptr;
  thread_local const struct Release {
    ~Release() { std::unique_ptr<Last>(std::exchange(last, nullptr)); }
  } at_end;
  (void)at_end;
  if (last == nullptr) last = std::make_unique<Last>().release();
  const bool is_same = last->kind == kind && last->grid == grid && last->buckets.device() == device;
  if (!is_same) *last = {kind, grid, make_buckets(kind, grid).to(device)};
  return last->buckets;
}

Tensor heads_of(const Tensor& qkv, std::int64_t heads, std::int64_t index) {
  const std::int64_t B = qkv.size(0), L = qkv.size(1), d = qkv.size(2) / (3 * heads);
  const Tensor parts = ops::reshape(qkv, {B, L, 3, heads, d});
  return ops::permute(ops::select(parts, 2, index), {0, 2, 1, 3});  // [B, H, L, d]
}

RelativeTables::RelativeTables(const Scope& attn, RelativePosition kind, std::int64_t head_dim)
    : kind_(kind) {
  if (kind == RelativePosition::irpe) {
    const Shape shape{1, head_dim, vectors(kind)};
    lookup_ = (attn / "rpe_k").param("lookup_table_weight", shape, constant(0));  // decayed
    return;
  }
  const auto table = [&](const char* part, const char* axis) {
    return (attn / part).param(axis, {kSpan, head_dim}, trunc_normal(0.02), Decay::no);
  };
  key_h_ = table("rpe_k", "h");
  key_w_ = table("rpe_k", "w");
  value_h_ = table("rpe_v", "h");
  value_w_ = table("rpe_v", "w");
}

std::int64_t RelativeTables::vectors(RelativePosition kind) {
  return kind == RelativePosition::irpe ? kOfPrefix + 1 : 2 * kSpan;
}

Tensor RelativeTables::logits(const Tensor& q, const TokenGrid& grid) const {
  check(q.size(2) == grid.tokens(), "RelativeTables: got queries ", q.shape(), " for a grid of ",
        grid.tokens(), " tokens");
  const std::int64_t d = q.size(3);
  const Tensor table = kind_ == RelativePosition::irpe
                           ? ops::transpose(ops::reshape(lookup_, {d, -1}), 0, 1)
                           : ops::cat({key_h_, key_w_}, 0);     // [R, d]
  const Tensor products = ops::linear(q, table) * scale_of(q);  // [B, H, L, R]
  return ops::relative_gather(products, relative_buckets(kind_, grid, q.device()));
}

Tensor RelativeTables::attend(const Tensor& qkv, std::int64_t heads, const Tensor& bias,
                              const TokenGrid& grid) const {
  if (kind_ == RelativePosition::irpe) return ops::self_attention(qkv, heads, bias);
  const Tensor q = heads_of(qkv, heads, 0);  // [B, H, L, d]
  const Tensor k = heads_of(qkv, heads, 1), v = heads_of(qkv, heads, 2);
  const Tensor scores = ops::matmul(q, k, {.b = true}) * scale_of(q);  // [B, H, L, L]
  const Tensor alpha = ops::softmax(scores + bias);
  // sum_j alpha_ij a^V_ij = sum over vectors of (total weight of the keys that share it) x vector.
  const Tensor shares =
      ops::relative_sum(alpha, relative_buckets(kind_, grid, q.device()), vectors(kind_));
  const Tensor table = ops::cat({value_h_, value_w_}, 0);  // [R, d]
  const Tensor z = ops::matmul(alpha, v) + ops::linear(shares, ops::transpose(table, 0, 1));
  return join_heads(z);
}

}  // namespace fovea
