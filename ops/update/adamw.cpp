// AdamW: Adam with decoupled weight decay (Loshchilov and Hutter, 2019), as torch.optim.AdamW.
//
//   p <- p (1 - lr wd)
//   m <- b1 m + (1 - b1) g            first moment
//   v <- b2 v + (1 - b2) g^2          second moment
//   p <- p - lr / (1 - b1^t)  *  m / (sqrt(v) / sqrt(1 - b2^t) + eps)
//
// One pass over memory per parameter: four reads, three writes.
#include "ops/kernels.h"
#include "ops/update/arrays.h"
#include "ops/update/call.h"

namespace fovea::ops {

void adamw_(const UpdateTensors& tensors, const UpdateRates& rates, const AdamOptions& options) {
  const OpLabel op("adamw_");
  kernels(tensors.parameter.device())
      .update.adamw({.arrays = detail::arrays_of(op, tensors, detail::MomentCount::two),
                     .rates = detail::rates_of(op, tensors, rates),
                     .adam = detail::adam_numbers(op, rates, options)});
  detail::bump_versions(tensors, detail::MomentCount::two);
}

}  // namespace fovea::ops
