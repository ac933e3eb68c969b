// Group norm, and instance norm, which is group norm with one channel per group.
#include "ops/norm/affine.h"
#include "ops/norm/planes.h"

namespace fovea::ops {
namespace {

Tensor normalised(const OpLabel& op, const Tensor& x, const Affine& affine,
                  const detail::PlaneNorm& norm) {
  return detail::normalise_planes(
      op, x, affine, detail::moments_of(detail::detached_contiguous(x), norm.sets), norm);
}

enum class Then { nothing, silu };

Tensor group_norm_then(Then then, const Tensor& x, std::int64_t groups, const Affine& affine,
                       double eps) {
  const bool silu = then == Then::silu;
  const char* const name = silu ? "group_norm_silu" : "group_norm";
  const OpLabel op(name, {{"groups", groups}, {"eps", eps}});
  const PlaneSets sets = detail::plane_sets(op, x, affine, groups);
  check(groups >= 1 && sets.channels % groups == 0, name, ": got ", groups, " groups for ",
        sets.channels, " channels, expected a divisor");
  return normalised(op, x, affine, {.sets = sets, .eps = eps, .silu = silu});
}

}  // namespace

Tensor group_norm(const Tensor& x, std::int64_t groups, const Affine& affine, double eps) {
  return group_norm_then(Then::nothing, x, groups, affine, eps);
}

Tensor group_norm_silu(const Tensor& x, std::int64_t groups, const Affine& affine, double eps) {
  return group_norm_then(Then::silu, x, groups, affine, eps);
}

Tensor instance_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps) {
  const OpLabel op("instance_norm", {{"eps", eps}});
  const Affine affine{weight, bias};
  const std::int64_t groups = x.rank() >= 2 ? x.size(1) : 1;
  return normalised(op, x, affine, {detail::plane_sets(op, x, affine, groups), eps});
}

}  // namespace fovea::ops
