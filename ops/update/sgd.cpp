// Stochastic gradient descent with momentum, like torch.optim.SGD: the decay is part of the
// gradient.
//
//   g <- g + wd p
//   m <- g at the first step, then momentum m + g
//   p <- p - lr m                     or, with Nesterov,  p - lr (g + momentum m)
#include "ops/kernels.h"
#include "ops/update/arrays.h"
#include "ops/update/call.h"

namespace fovea::ops {

void sgd_(const UpdateTensors& tensors, const UpdateRates& rates, const SgdOptions& options) {
  const OpLabel op("sgd_");
  const bool nesterov = options.nesterov;
  // m is 0 before the first step, so there momentum m + g = g.
  kernels(tensors.parameter.device())
      .update.sgd({.arrays = detail::arrays_of(op, tensors, detail::MomentCount::one),
                   .rates = detail::rates_of(op, tensors, rates),
                   .momentum = options.momentum,
                   .g_part = nesterov ? 1.0 : 0.0,
                   .m_part = nesterov ? options.momentum : 1.0});
  detail::bump_versions(tensors, detail::MomentCount::one);
}

}  // namespace fovea::ops
