// Exponential moving averages.
#include "ops/common/checks.h"
#include "ops/kernels.h"
#include "ops/update/arrays.h"
#include "ops/update/call.h"

namespace fovea::ops {

void average_(const Tensor& average, const Tensor& value, const Tensor& decay) {
  const OpLabel op("average_");
  detail::require_updatable(op, "an average", average);
  detail::require_like(op, "a value", value, average);
  detail::require_one_device(op, {average, decay});
  check(decay.dtype() == DType::f64 && decay.numel() == 1, op, ": got a decay ", decay.dtype(), " ",
        decay.shape(), ", expected one f64");
  kernels(average.device())
      .update.average({.dtype = average.dtype(),
                       .count = average.numel(),
                       .average = average.raw(),
                       .value = value.raw(),
                       .decay = reinterpret_cast<const double*>(decay.raw())});
  average.bump_version();
}

}  // namespace fovea::ops
