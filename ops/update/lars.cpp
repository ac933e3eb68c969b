// LARS: SGD with momentum, with a step proportional to the norm of each matrix or filter (You et
// al., "Large Batch Training of Convolutional Networks", 2017), in the form that MAE's code uses
// for linear probing.
//
//   u = g + wd p,  m <- momentum m + q u,  p <- p - lr m
//
// q = trust |p| / |u|, or 1 if a norm is 0. Tensors with one axis have u = g and q = 1. Sums of
// squares stay on the device.
#include "ops/kernels.h"
#include "ops/update/arrays.h"
#include "ops/update/call.h"

namespace fovea::ops {

void lars_(const UpdateTensors& tensors, const UpdateRates& rates, const LarsOptions& options) {
  const OpLabel op("lars_");
  const UpdateArrays arrays = detail::arrays_of(op, tensors, detail::MomentCount::one);
  const Tensor& p = tensors.parameter;
  const bool adapts = p.rank() > 1;
  const std::int64_t blocks = (arrays.count + kUpdateBlock - 1) / kUpdateBlock;
  const Tensor u = p.detach().clone();
  const Tensor squares = empty({2, blocks}, {DType::f64, p.device()});
  auto* const sums = reinterpret_cast<double*>(squares.raw());

  const StepRates step = detail::rates_of(op, tensors, rates);
  const UpdateKernels& run = kernels(p.device()).update;
  run.average({.dtype = arrays.dtype,
               .count = arrays.count,
               .average = u.raw(),
               .value = arrays.g,
               .keep = adapts ? rates.weight_decay : 0,
               .rest = 1,
               .now = step.now});
  run.squares({arrays.dtype, arrays.count, p.raw(), sums});
  run.squares({arrays.dtype, arrays.count, u.raw(), sums + blocks});
  run.move({.dtype = arrays.dtype,
            .count = arrays.count,
            .p = arrays.m,
            .u = u.raw(),
            .rates = {.lr_scale = -1},
            .keep = options.momentum,
            .squares = adapts ? sums : nullptr,
            .trust = options.trust});
  run.move({.dtype = arrays.dtype,
            .count = arrays.count,
            .p = arrays.p,
            .u = arrays.m,
            .rates = {step.now, step.lr_scale}});
  detail::bump_versions(tensors, detail::MomentCount::one);
}

}  // namespace fovea::ops
