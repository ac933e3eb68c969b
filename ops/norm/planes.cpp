// Statistics of plane sets, and normalisation by them. Sums over the planes of a set are f64 and
// in plane order.
#include "ops/norm/planes.h"

#include <algorithm>

#include "engine/autograd.h"
#include "engine/copy.h"
#include "ops/elementwise/activation_functors.h"
#include "ops/elementwise/map.h"
#include "ops/kernels.h"
#include "ops/norm/affine.h"
#include "ops/norm/call.h"

namespace fovea::ops::detail {
namespace {

std::int64_t set_count(const PlaneSets& s) {
  return s.groups == 0 ? s.channels : s.batch * s.groups;
}

/// Sums the planes' values [planes, n] within each set: [sets, n].
Tensor sum_sets(const Tensor& values, const PlaneSets& s) {
  const std::int64_t n = values.numel() / std::max<std::int64_t>(1, s.planes());
  if (set_count(s) == s.planes()) return values.alias({s.planes(), n}, {n, 1});
  const bool by_channel = s.groups == 0;
  const Shape planes = by_channel ? Shape{s.batch, s.channels, n}
                                  : Shape{s.batch * s.groups, s.channels / s.groups, n};
  const Shape sets = by_channel ? Shape{1, s.channels, n} : Shape{planes[0], 1, n};
  const Tensor sums = sum_to(values.alias(planes, contiguous_strides(planes)), sets);
  return sums.alias({set_count(s), n}, {n, 1});
}

Tensor divided(const Tensor& x, const PlaneSets& sets) {
  return map(DivScalar{static_cast<double>(set_size(sets))}, x);
}

/// The tensors that the op and its derivative read: x packed, statistics, weight and bias in acc.
struct Saved {
  Tensor x, mean, rstd, weight, bias;
};

PlanesCall call_of(const Saved& s, const PlaneNorm& norm) {
  return {.dtype = s.x.dtype(),
          .sets = norm.sets,
          .relu = norm.relu,
          .x = s.x.raw(),
          .mean = s.mean.raw(),
          .rstd = s.rstd.raw(),
          .weight = s.weight.raw(),
          .bias = s.bias.raw()};
}

/// w h + b, or with relu its positive part.
Tensor normalised(const Saved& s, const PlaneNorm& norm) {
  const Tensor y = empty(s.x.shape(), s.x.options());
  PlanesCall call = call_of(s, norm);
  call.out = y.raw();
  kernels(y.device()).norm.normalise(call);
  return y;
}

/// The gradient before silu.
Tensor before_silu(const Saved& s, const PlaneNorm& norm, const Tensor& dy) {
  const Tensor y = normalised(s, norm);
  map_into(y, SiluGrad{}, y, dy);
  return y;
}

/// mean(w g) and mean(w g h) of every set, [sets, 2], from the planes' sums [B, C, 2].
Tensor gradient_means(const Saved& s, const PlaneNorm& norm, const Tensor& sums) {
  const PlaneSets& sets = norm.sets;
  if (norm.constant_statistics) return zeros({set_count(sets), 2}, sums.options());
  const Tensor share = divided(s.weight.to(DType::f64), sets);
  return sum_sets(map(Mul{}, share.alias({sets.channels, 1}, {1, 1}), sums), sets);
}

/// The gradients of x, weight and bias; the last two are f64.
Grads differentiate(const Saved& s, const PlaneNorm& norm, const Tensor& dy) {
  const PlaneSets& sets = norm.sets;
  const Tensor sums = empty({sets.batch, sets.channels, 2}, {DType::f64, dy.device()});
  const Tensor dx = empty(s.x.shape(), s.x.options());
  PlanesCall call = call_of(s, norm);
  call.dy = dy.raw();
  call.sums = reinterpret_cast<double*>(sums.raw());
  kernels(dy.device()).norm.plane_grad_sums(call);
  const Tensor means = gradient_means(s, norm, sums);
  call.set_means = reinterpret_cast<const double*>(means.raw());
  call.out = dx.raw();
  kernels(dy.device()).norm.plane_grad(call);
  const Tensor totals = sum_to(sums, {1, sets.channels, 2});
  return {dx, totals.alias({sets.channels}, {2}, 1), totals.alias({sets.channels}, {2})};
}

}  // namespace

PlaneSets plane_sets(std::string_view op, const Tensor& x, const Affine& affine,
                     std::int64_t groups) {
  require_one_device(op, {x, affine.weight, affine.bias});
  require_float(op, x);
  check(x.rank() >= 2, op, ": got shape ", x.shape(), ", expected [B, C, ...]");
  PlaneSets sets{x.shape()[0], x.shape()[1], 1, groups};
  require_affine(op, "weight", affine.weight, sets.channels);
  require_affine(op, "bias", affine.bias, sets.channels);
  for (int axis = 2; axis < x.rank(); ++axis) sets.size *= x.shape()[axis];
  return sets;
}

std::int64_t set_size(const PlaneSets& s) {
  return std::max<std::int64_t>(1,
                                s.groups == 0 ? s.batch * s.size : s.channels / s.groups * s.size);
}

PlaneMoments moments_of(const Tensor& x, const PlaneSets& sets) {
  const Tensor sums = empty({sets.planes()}, {DType::f64, x.device()});
  PlanesCall call{.dtype = x.dtype(),
                  .sets = sets,
                  .x = x.raw(),
                  .sums = reinterpret_cast<double*>(sums.raw())};
  kernels(x.device()).norm.plane_sums(call);
  const Tensor mean = divided(sum_sets(sums, sets), sets);
  const Tensor used = mean.to(acc_dtype(x.dtype()));
  call.mean = used.raw();
  kernels(x.device()).norm.plane_squares(call);
  const Tensor variance = divided(sum_sets(sums, sets), sets);
  const std::int64_t count = set_count(sets);
  return {mean.alias({count}, {1}), variance.alias({count}, {1})};
}

Tensor normalise_planes(const OpLabel& op, const Tensor& x, const Affine& affine,
                        const PlaneMoments& moments, const PlaneNorm& norm) {
  const TensorOptions acc{acc_dtype(x.dtype()), x.device()};
  const Tensor rstd = map(Rsqrt{}, map(AddScalar{norm.eps}, moments.variance));
  const Saved s{detached_contiguous(x), moments.mean.to(acc.dtype), rstd.to(acc.dtype),
                affine_or(affine.weight, {norm.sets.channels}, 1, acc),
                affine_or(affine.bias, {norm.sets.channels}, 0, acc)};
  const Tensor y = normalised(s, norm);
  if (norm.silu) map_into(y, Silu{}, y);
  const DType weight_dtype = affine.weight.defined() ? affine.weight.dtype() : acc.dtype;
  const DType bias_dtype = affine.bias.defined() ? affine.bias.dtype() : acc.dtype;
  const PlaneMoments given = norm.constant_statistics ? moments : PlaneMoments{};
  return record(op, y, {x, affine.weight, affine.bias, given.mean, given.variance},
                {s.x, s.mean, s.rstd, s.weight, s.bias},
                [norm, weight_dtype, bias_dtype](const GradArgs& g) -> Grads {
                  const auto kept = g.saved;
                  const Saved saved{kept[0], kept[1], kept[2], kept[3], kept[4]};
                  const Tensor dy = norm.silu ? before_silu(saved, norm, g.dy) : g.dy;
                  const Grads grads = differentiate(saved, norm, dy);
                  return {grads[0], grads[1].to(weight_dtype), grads[2].to(bias_dtype), {}, {}};
                });
}

}  // namespace fovea::ops::detail
