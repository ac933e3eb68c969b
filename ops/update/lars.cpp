// LARS: SGD with momentum, with a step proportional to the norm of each matrix or filter (You et
// al., "Large Batch Training of Convolutional Networks", 2017), in the form that MAE's code uses
// for linear probing.
//
//   u = g + wd p,  m <- momentum m + q u,  p <- p - lr m
//
// q = trust |p| / |u|, or 1 if a norm is 0. Tensors with one axis have u = g and q = 1. Sums of
// squares stay on the device.
#include <vector>

#include "ops/kernels.h"
#include "ops/update/arrays.h"
#include "ops/update/call.h"

namespace fovea::ops {

void lars_(Updates updates, const LarsOptions& options) {
  const OpLabel op("lars_");
  const UpdateKernels& run = detail::kernels_of(op, updates);
  std::vector<Tensor> held;  // the u, and the sums of squares
  std::vector<AverageCall> sums;
  std::vector<SquaresCall> squares;
  std::vector<MoveCall> to_moment, to_parameter;
  for (const auto& [tensors, rates] : updates) {
    const UpdateArrays arrays = detail::arrays_of(op, tensors, detail::MomentCount::one);
    const StepRates step = detail::rates_of(op, tensors, rates);
    const Tensor& p = tensors.parameter;
    const bool adapts = p.rank() > 1;
    const std::int64_t blocks = blocks_of(arrays.count);
    const Tensor u = held.emplace_back(p.detach().clone());
    const Tensor pairs = held.emplace_back(empty({2, blocks}, {DType::f64, p.device()}));
    auto* const parts = reinterpret_cast<double*>(pairs.raw());
    sums.push_back({.dtype = arrays.dtype,
                    .count = arrays.count,
                    .average = u.raw(),
                    .value = arrays.g,
                    .keep = adapts ? rates.weight_decay : 0,
                    .rest = 1,
                    .now = step.now,
                    .scales = true});
    squares.push_back({arrays.dtype, arrays.count, arrays.p, parts});
    squares.push_back({arrays.dtype, arrays.count, u.raw(), parts + blocks});
    to_moment.push_back({.dtype = arrays.dtype,
                         .count = arrays.count,
                         .p = arrays.m,
                         .u = u.raw(),
                         .rates = {.now = step.now, .lr_scale = -1, .is_relative = false},
                         .keep = options.momentum,
                         .squares = adapts ? parts : nullptr,
                         .trust = options.trust});
    to_parameter.push_back({.dtype = arrays.dtype,
                            .count = arrays.count,
                            .p = arrays.p,
                            .u = arrays.m,
                            .rates = {step.now, step.lr_scale},
                            .follower = arrays.follower});
  }
  run.average(sums);
  run.squares(squares);
  run.move(to_moment);
  run.move(to_parameter);
  detail::bump_versions(updates, detail::MomentCount::one);
}

}  // namespace fovea::ops
