// The step's scalars and the bias corrections derived from them, in device memory.
#include <cmath>

#include "engine/copy.h"
#include "engine/op_label.h"
#include "ops/common/checks.h"
#include "ops/kernels.h"
#include "ops/update.h"
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
          .average_decay = now.average_decay};
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

}  // namespace fovea::ops
