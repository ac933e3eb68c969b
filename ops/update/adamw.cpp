// AdamW: Adam with decoupled weight decay (Loshchilov and Hutter, 2019), as torch.optim.AdamW.
//
//   p <- p (1 - lr wd)
//   m <- b1 m + (1 - b1) g            first moment
//   v <- b2 v + (1 - b2) g^2          second moment
//   p <- p - lr / (1 - b1^t)  *  m / (sqrt(v) / sqrt(1 - b2^t) + eps)
//
// One pass over memory: four reads, three writes.
#include "ops/kernels.h"
#include "ops/update/arrays.h"
#include "ops/update/call.h"

namespace fovea::ops {

void adamw_(Updates updates, const AdamOptions& options) {
  const OpLabel op("adamw_");
  const UpdateKernels& run = detail::kernels_of(op, updates);
  run.adamw(detail::calls_of(
      op, updates, detail::MomentCount::two,
      [&](const Update& u, const UpdateArrays& arrays, const StepRates& rates) {
        return AdamWCall{arrays, rates, detail::adam_numbers(op, u.rates, options)};
      }));
  detail::bump_versions(updates, detail::MomentCount::two);
}

}  // namespace fovea::ops
