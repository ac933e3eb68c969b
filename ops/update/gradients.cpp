// Gradient norms and clipping. Squares are summed over fixed blocks, and the block sums are added
// in order, so that a norm does not depend on the number of threads.
#include <algorithm>
#include <vector>

#include "engine/copy.h"
#include "ops/common/rows.h"
#include "ops/kernels.h"
#include "ops/update/arrays.h"
#include "ops/update/call.h"

namespace fovea::ops {

std::int64_t update_block() { return kUpdateBlock; }

Tensor squares_by_block(std::span<const Tensor> tensors) {
  const OpLabel op("sum_of_squares");
  std::int64_t blocks = 0;
  for (const Tensor& x : tensors) {
    detail::require_float(op, x);
    detail::require_one_device(op, {tensors[0], x});
    blocks += blocks_of(x.numel());
  }
  const Device device = tensors.empty() ? Device{} : tensors[0].device();
  const Tensor sums = empty({blocks}, {DType::f64, device});
  auto* part = reinterpret_cast<double*>(sums.raw());
  std::vector<Tensor> dense;
  std::vector<SquaresCall> calls;
  for (const Tensor& x : tensors) {
    const Tensor& from = dense.emplace_back(detail::detached_contiguous(x));
    calls.push_back({from.dtype(), from.numel(), from.raw(), part});
    part += blocks_of(x.numel());
  }
  kernels(device).update.squares(calls);
  return sums;
}

Tensor sum_of_squares(std::span<const Tensor> tensors) {
  return sum_to(squares_by_block(tensors), {});
}

void clip_values_(const Tensor& gradient, double limit) {
  const OpLabel op("clip_values_");
  detail::require_updatable(op, "a gradient", gradient);
  kernels(gradient.device())
      .update.clip_values({gradient.dtype(), gradient.numel(), gradient.raw(), limit});
  gradient.bump_version();
}

/// Brock et al., "High-Performance Large-Scale Image Recognition Without Normalization", 2021,
/// equation 3, like timm's adaptive_clip_grad.
void clip_units_(const Tensor& gradient, const Tensor& parameter, double factor, double scale) {
  const OpLabel op("clip_units_");
  detail::require_updatable(op, "a gradient", gradient);
  const Tensor weights = detail::detached_contiguous(parameter);
  detail::require_like(op, "a parameter", weights, gradient);
  const std::int64_t units = gradient.rank() <= 1 ? 1 : gradient.size(0);
  kernels(gradient.device())
      .update.clip_units({.dtype = gradient.dtype(),
                          .units = units,
                          .length = gradient.numel() / std::max<std::int64_t>(units, 1),
                          .g = gradient.raw(),
                          .p = weights.raw(),
                          .factor = factor,
                          .scale = scale});
  gradient.bump_version();
}

}  // namespace fovea::ops
