// Exponential moving averages.
#include <vector>

#include "ops/common/checks.h"
#include "ops/kernels.h"
#include "ops/update/arrays.h"
#include "ops/update/call.h"

namespace fovea::ops {

namespace {

void run(const OpLabel& op, std::span<const Average> averages, const Tensor& memory,
         const double* decay, const DeviceScalars* now) {
  std::vector<AverageCall> calls;
  for (const auto& [average, value] : averages) {
    detail::require_updatable(op, "an average", average);
    detail::require_like(op, "a value", value, average);
    detail::require_one_device(op, {average, memory});
    calls.push_back({.dtype = average.dtype(),
                     .count = average.numel(),
                     .average = average.raw(),
                     .value = value.raw(),
                     .decay = decay,
                     .now = now});
  }
  kernels(memory.device()).update.average(calls);
  for (const Average& each : averages) each.average.bump_version();
}

}  // namespace

void average_(std::span<const Average> averages, const Tensor& decay) {
  const OpLabel op("average_");
  check(decay.dtype() == DType::f64 && decay.numel() == 1, op, ": got a decay ", decay.dtype(), " ",
        decay.shape(), ", expected one f64");
  run(op, averages, decay, reinterpret_cast<const double*>(decay.raw()), nullptr);
}

void average_(std::span<const Average> averages, const UpdateStep& step) {
  const auto* const now = reinterpret_cast<const DeviceScalars*>(step.memory().raw());
  run(OpLabel("average_"), averages, step.memory(), &now->average_decay, now);
}

}  // namespace fovea::ops
