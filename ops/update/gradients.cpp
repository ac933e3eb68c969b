// Norms of gradients, and clipping. Squares are summed over fixed blocks, and those sums added in
// their order, so that a norm does not depend on the number of threads.
#include <algorithm>

#include "ops/common/rows.h"
#include "ops/kernels.h"
#include "ops/update/arrays.h"

namespace fovea::ops {

double sum_of_squares(const Tensor& x) {
  detail::require_float("sum_of_squares", x);
  const Tensor dense = detail::packed(x);
  const std::int64_t n = dense.numel();
  const Tensor sums = empty({(n + kUpdateBlock - 1) / kUpdateBlock}, {DType::f64, x.device()});
  kernels(x.device())
      .update.squares({dense.dtype(), n, dense.raw(), reinterpret_cast<double*>(sums.raw())});
  double sum = 0;
  for (const double part : sums.to_vector()) sum += part;
  return sum;
}

void clip_values_(const Tensor& gradient, double limit) {
  detail::require_updatable("clip_values_", "a gradient", gradient);
  kernels(gradient.device())
      .update.clip_values({gradient.dtype(), gradient.numel(), gradient.raw(), limit});
  gradient.bump_version();
}

/// Brock et al., "High-Performance Large-Scale Image Recognition Without Normalization", 2021,
/// equation 3, as timm's adaptive_clip_grad.
void clip_units_(const Tensor& gradient, const Tensor& parameter, double factor, double scale) {
  detail::require_updatable("clip_units_", "a gradient", gradient);
  const Tensor weights = detail::packed(parameter);
  detail::require_like("clip_units_", "a parameter", weights, gradient);
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
