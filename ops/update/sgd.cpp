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

void sgd_(Updates updates, const SgdOptions& options) {
  const OpLabel op("sgd_");
  const bool nesterov = options.nesterov;
  const UpdateKernels& run = detail::kernels_of(op, updates);
  // m is 0 before the first step, so there momentum m + g = g.
  run.sgd(detail::calls_of(op, updates, detail::MomentCount::one,
                           [&](const Update&, const UpdateArrays& arrays, const StepRates& rates) {
                             return SgdCall{.arrays = arrays,
                                            .rates = rates,
                                            .momentum = options.momentum,
                                            .g_part = nesterov ? 1.0 : 0.0,
                                            .m_part = nesterov ? options.momentum : 1.0};
                           }));
  detail::bump_versions(updates, detail::MomentCount::one);
}

}  // namespace fovea::ops
