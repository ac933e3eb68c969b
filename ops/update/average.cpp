// Exponential moving averages.
#include <vector>

#include "ops/common/checks.h"
#include "ops/kernels.h"
#include "ops/update/arrays.h"
#include "ops/update/call.h"

namespace fovea::ops {

void average_(std::span<const Average> averages, const Tensor& decay) {
  const OpLabel op("average_");
  check(decay.dtype() == DType::f64 && decay.numel() == 1, op, ": got a decay ", decay.dtype(), " ",
        decay.shape(), ", expected one f64");
  std::vector<AverageCall> calls;
  for (const auto& [average, value] : averages) {
    detail::require_updatable(op, "an average", average);
    detail::require_like(op, "a value", value, average);
    detail::require_one_device(op, {average, decay});
    calls.push_back({.dtype = average.dtype(),
                     .count = average.numel(),
                     .average = average.raw(),
                     .value = value.raw(),
                     .decay = reinterpret_cast<double*>(decay.raw())});
  }
  kernels(decay.device()).update.average(calls);
  for (const Average& each : averages) each.average.bump_version();
}

}  // namespace fovea::ops
