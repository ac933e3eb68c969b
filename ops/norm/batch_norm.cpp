// Batch norm: training normalises by the batch's statistics and updates the running ones;
// evaluation normalises by the running ones.
#include "ops/elementwise/map.h"
#include "ops/norm/affine.h"
#include "ops/norm/planes.h"

namespace fovea::ops {
namespace {

/// running = (1 - momentum) running + momentum scale batch, in f64.
void update_running(const Tensor& running, const Tensor& batch, double scale, double momentum) {
  const Tensor kept = detail::map(detail::MulScalar{1 - momentum}, running.to(DType::f64));
  const Tensor added = detail::map(detail::MulScalar{momentum * scale}, batch);
  running.copy_(detail::map(detail::Add{}, kept, added));
}

void require_running(std::string_view op, const RunningStatistics& running, const Tensor& x) {
  const std::int64_t C = x.size(1);
  check(running.mean.defined() && running.variance.defined(), op,
        ": got no running statistics, expected running_mean and running_var [", C, "]");
  detail::require_one_device(op, {x, running.mean, running.variance});
  detail::require_affine(op, "running_mean", running.mean, C);
  detail::require_affine(op, "running_var", running.variance, C);
}

}  // namespace

Tensor batch_norm(const Tensor& x, const Affine& affine, const RunningStatistics& running,
                  BatchNormOptions options) {
  const OpLabel op("batch_norm", {{"training", options.training},
                                  {"momentum", options.momentum},
                                  {"eps", options.eps},
                                  {"relu", options.relu}});
  const PlaneSets sets = detail::plane_sets(op, x, affine, 0);
  require_running(op, running, x);
  detail::PlaneMoments moments{running.mean.detach().to(DType::f64),
                               running.variance.detach().to(DType::f64)};
  if (options.training) {
    const auto n = static_cast<double>(detail::set_size(sets));
    check(n > 1, "batch_norm: got one value per channel (shape ", x.shape(),
          "), expected at least two in training; their variance is undefined");
    moments = detail::moments_of(detail::detached_contiguous(x), sets);
    update_running(running.mean, moments.mean, 1, options.momentum);
    update_running(running.variance, moments.variance, n / (n - 1), options.momentum);
  }
  return detail::normalise_planes(op, x, affine, moments,
                                  {.sets = sets,
                                   .eps = options.eps,
                                   .constant_statistics = !options.training,
                                   .relu = options.relu});
}

}  // namespace fovea::ops
