// LAMB: Adam's direction, scaled per tensor by the norm of the tensor (You et al., "Large Batch
// Optimization for Deep Learning: Training BERT in 76 minutes", 2020), like timm's Lamb.
//
//   m <- b1 m + (1 - b1) g,  v <- b2 v + (1 - b2) g^2
//   u = m / (1 - b1^t) / (sqrt(v) / sqrt(1 - b2^t) + eps) + wd p
//   p <- p - lr r u,  r = |p| / |u|                        r = 1 where wd = 0 or a norm is 0
//
// Sums of squares are taken over fixed blocks, so that they do not depend on threads; they stay on
// the device. The caller limits the gradient norm to 1.
#include <vector>

#include "ops/kernels.h"
#include "ops/update/arrays.h"
#include "ops/update/call.h"

namespace fovea::ops {

void lamb_(Updates updates, const AdamOptions& options) {
  const OpLabel op("lamb_");
  const UpdateKernels& run = detail::kernels_of(op, updates);
  std::vector<Tensor> held;  // the directions u, and the sums of squares
  std::vector<MoveCall> moves;
  run.lamb(detail::calls_of(
      op, updates, detail::MomentCount::two,
      [&](const Update& update, const UpdateArrays& arrays, const StepRates& rates) {
        const Tensor& p = update.tensors.parameter;
        const Tensor u = held.emplace_back(empty(p.shape(), p.options()));
        const Tensor squares =
            held.emplace_back(empty({2, blocks_of(arrays.count)}, {DType::f64, p.device()}));
        auto* const sums = reinterpret_cast<double*>(squares.raw());
        moves.push_back({.dtype = arrays.dtype,
                         .count = arrays.count,
                         .p = arrays.p,
                         .u = u.raw(),
                         .rates = {rates.now, rates.lr_scale},
                         .squares = rates.weight_decay != 0 ? sums : nullptr,
                         .follower = arrays.follower});
        return LambCall{.arrays = arrays,
                        .rates = rates,
                        .adam = detail::adam_numbers(op, update.rates, options),
                        .u = u.raw(),
                        .squares = sums};
      }));
  run.move(moves);
  detail::bump_versions(updates, detail::MomentCount::two);
}

}  // namespace fovea::ops
