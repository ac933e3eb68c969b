// The step's scalars and the bias corrections derived from them, in device memory.
#include <cmath>
#include <vector>

#include "engine/copy.h"
#include "engine/op_label.h"
#include "ops/common/checks.h"
#include "ops/kernels.h"
#include "ops/update.h"
#include "ops/update/arrays.h"
#include "ops/update/call.h"

namespace fovea::ops {
namespace {

constexpr auto kDoubles = static_cast<std::int64_t>(sizeof(DeviceScalars) / sizeof(double));

DeviceScalars block_of(const StepScalars& now) {
  const auto t = static_cast<double>(now.step);
  return {.lr = now.lr,
          .gradient_scale = now.gradient_scale,
          .first_bias = 1 - std::pow(now.beta1, t),
          .second_root = 1 / std::sqrt(1 - std::pow(now.beta2, t)),
          .average_decay = now.average_decay,
          .step = t};
}

}  // namespace

UpdateStep::UpdateStep(Device device, const StepScalars& now)
    : memory_(empty({kDoubles}, {DType::f64, device})) {
  write(now);
}

void UpdateStep::write(const StepScalars& now) {
  numbers_ = now;
  const DeviceScalars block = block_of(now);
  copy_into(memory_, from_bytes({kDoubles}, DType::f64, std::as_bytes(std::span(&block, 1))));
}

void UpdateStep::limit_norm(const Tensor& squares, double limit, double margin) const {
  const OpLabel op("limit_norm");
  detail::require_one_device(op, {memory_, squares});
  check(squares.dtype() == DType::f64 && squares.numel() == 1, op, ": got squares ",
        squares.dtype(), " ", squares.shape(), ", expected one f64");
  kernels(memory_.device())
      .update.limit({.now = reinterpret_cast<DeviceScalars*>(memory_.raw()),
                     .squares = reinterpret_cast<double*>(squares.raw()),
                     .limit = limit,
                     .margin = margin});
  memory_.bump_version();
}

void UpdateStep::skip_unless_finite(const Tensor& loss, const Tensor& squares,
                                    const Tensor& skipped, const AverageDecay& average) const {
  const OpLabel op("skip_unless_finite");
  detail::require_one_device(op, {memory_, loss, squares, skipped});
  for (const Tensor& number : {loss, squares, skipped}) {
    check(number.dtype() == DType::f64 && number.numel() == 1, op, ": got ", number.dtype(), " ",
          number.shape(), ", expected one f64");
  }
  const auto at = [](const Tensor& x) { return reinterpret_cast<double*>(x.raw()); };
  kernels(memory_.device())
      .update.judge({.now = reinterpret_cast<DeviceScalars*>(memory_.raw()),
                     .loss = at(loss),
                     .squares = at(squares),
                     .skipped = at(skipped),
                     .beta1 = numbers_.beta1,
                     .beta2 = numbers_.beta2,
                     .average_decay = average.decay,
                     .warms_up = average.warms_up});
  memory_.bump_version();
  skipped.bump_version();
}

void restore_if_skipped(std::span<const Restored> tensors, const UpdateStep& step) {
  const OpLabel op("restore_if_skipped");
  std::vector<RestoreCall> calls;
  for (const auto& [x, before] : tensors) {
    detail::require_one_device(op, {x, before, step.memory()});
    const bool are_alike = x.shape() == before.shape() && x.dtype() == before.dtype() &&
                           x.is_contiguous() && before.is_contiguous();
    const bool is_wide = size_of(x.dtype()) == sizeof(double);
    check(are_alike && (is_wide || size_of(x.dtype()) == sizeof(float)), op, ": got ", x.dtype(),
          " ", x.shape(), " and ", before.dtype(), " ", before.shape(),
          ", expected contiguous tensors that are alike, of 4 or 8 bytes an element");
    calls.push_back({.dtype = is_wide ? DType::f64 : DType::f32,
                     .count = x.numel(),
                     .x = x.raw(),
                     .before = before.raw(),
                     .now = reinterpret_cast<const DeviceScalars*>(step.memory().raw())});
  }
  if (calls.empty()) return;
  kernels(step.memory().device()).update.restore(calls);
  for (const Restored& each : tensors) each.x.bump_version();
}

}  // namespace fovea::ops
