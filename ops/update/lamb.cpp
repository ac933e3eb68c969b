// LAMB: Adam's direction, scaled per tensor by the norm of the tensor (You et al., "Large Batch
// Optimization for Deep Learning: Training BERT in 76 minutes", 2020), like timm's Lamb.
//
//   m <- b1 m + (1 - b1) g,  v <- b2 v + (1 - b2) g^2
//   u = m / (1 - b1^t) / (sqrt(v) / sqrt(1 - b2^t) + eps) + wd p
//   p <- p - lr r u,  r = |p| / |u|                        r = 1 where wd = 0 or a norm is 0
//
// Sums of squares are taken over fixed blocks, so that they do not depend on threads; they stay on
// the device. The caller limits the gradient norm to 1.
#include "ops/kernels.h"
#include "ops/update/arrays.h"
#include "ops/update/call.h"

namespace fovea::ops {

void lamb_(const UpdateTensors& tensors, const UpdateRates& rates, const AdamOptions& options) {
  const OpLabel op("lamb_");
  const UpdateArrays arrays = detail::arrays_of(op, tensors, detail::MomentCount::two);
  const Tensor& p = tensors.parameter;
  const std::int64_t blocks = (arrays.count + kUpdateBlock - 1) / kUpdateBlock;
  const Tensor u = empty(p.shape(), p.options());
  const Tensor squares = empty({2, blocks}, {DType::f64, p.device()});
  auto* const sums = reinterpret_cast<double*>(squares.raw());
  const bool adapts = rates.weight_decay != 0;

  const StepRates step = detail::rates_of(op, tensors, rates);
  const UpdateKernels& run = kernels(p.device()).update;
  run.lamb({.arrays = arrays,
            .rates = step,
            .adam = detail::adam_numbers(op, rates, options),
            .u = u.raw(),
            .squares = sums});
  run.move({.dtype = arrays.dtype,
            .count = arrays.count,
            .p = arrays.p,
            .u = u.raw(),
            .rates = {step.now, step.lr_scale},
            .squares = adapts ? sums : nullptr});
  detail::bump_versions(tensors, detail::MomentCount::two);
}

}  // namespace fovea::ops
