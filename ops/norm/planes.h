// Common parts of batch, group and instance norm. x [B, C, ...] is B C planes of contiguous
// elements; planes that share statistics form a set: the planes of one channel, or of one image
// and group. With h = (x - mean) rstd over a set of n elements:
//   y = h w + b,   dw = sum dy h,   db = sum dy,
//   dx = rstd (w dy - mean(w dy) - h mean(w dy h)),
// and dx = rstd w dy if the statistics are constants (batch norm in evaluation).
#pragma once

#include <string_view>

#include "engine/op_label.h"
#include "engine/tensor.h"
#include "ops/norm.h"
#include "ops/norm/call.h"

namespace fovea::ops::detail {

/// Checks x, weight and bias, which must be on one device; `groups` is 0 for batch norm.
[[nodiscard]] PlaneSets plane_sets(std::string_view op, const Tensor& x, const Affine& affine,
                                   std::int64_t groups);
/// Number of elements in a set; at least 1, so that empty sets divide 0 by 1.
[[nodiscard]] std::int64_t set_size(const PlaneSets& sets);

/// Mean and biased variance of each set: [sets], in f64.
struct PlaneMoments {
  Tensor mean, variance;
};
/// The moments of packed x. The mean comes first, then E(x - mean)^2, which keeps digits that E
/// x^2 - mean^2 would lose.
[[nodiscard]] PlaneMoments moments_of(const Tensor& x, const PlaneSets& sets);

struct PlaneNorm {
  PlaneSets sets;
  double eps = 0;
  bool constant_statistics = false;
  bool relu = false;  ///< y = relu(...); the derivative recomputes y, since it reads x anyway
  bool silu = false;  ///< y = silu(...), in place; the derivative recomputes the input of silu
};
/// Records the normalisation of x by these moments as `op`, whose inputs they are if they are
/// constants.
[[nodiscard]] Tensor normalise_planes(const OpLabel& op, const Tensor& x, const Affine& affine,
                                      const PlaneMoments& moments, const PlaneNorm& norm);

}  // namespace fovea::ops::detail
