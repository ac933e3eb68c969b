// Exponential moving averages.
#include "ops/kernels.h"
#include "ops/update/arrays.h"

namespace fovea::ops {

void average_(const Tensor& average, const Tensor& value, double decay, double scale) {
  const OpLabel op("average_");
  detail::require_updatable(op, "an average", average);
  detail::require_like(op, "a value", value, average);
  kernels(average.device())
      .update.average({.dtype = average.dtype(),
                       .count = average.numel(),
                       .average = average.raw(),
                       .value = value.raw(),
                       .keep = decay,
                       .rest = 1 - decay,
                       .scale = scale});
  average.bump_version();
}

}  // namespace fovea::ops
