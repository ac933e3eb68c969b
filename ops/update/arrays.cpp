// Checks that the tensors of an update fit each other and the step's scalars.
#include "ops/update/arrays.h"

#include "ops/common/checks.h"
#include "ops/kernels.h"

namespace fovea::ops::detail {

void require_updatable(std::string_view op, std::string_view what, const Tensor& t) {
  check(t.dtype() == DType::f32 || t.dtype() == DType::f64, op, ": got ", what, " of dtype ",
        t.dtype(), ", expected f32 or f64");
  check(t.is_contiguous(), op, ": got ", what,
        " that is not contiguous, expected a contiguous tensor");
}

void require_like(std::string_view op, std::string_view what, const Tensor& t,
                  const Tensor& changed) {
  require_one_device(op, {changed, t});
  check(t.shape() == changed.shape() && t.dtype() == changed.dtype(), op, ": got ", what, " ",
        t.dtype(), " ", t.shape(), ", expected ", changed.dtype(), " ", changed.shape());
  require_updatable(op, what, t);
}

UpdateArrays arrays_of(std::string_view op, const UpdateTensors& tensors, MomentCount moments) {
  const auto& [parameter, gradient, m, v, average, copy] = tensors;
  require_updatable(op, "a parameter", parameter);
  require_like(op, "a gradient", gradient, parameter);
  require_like(op, "m", m, parameter);
  if (moments == MomentCount::two) require_like(op, "v", v, parameter);
  if (average.defined()) require_like(op, "an average", average, parameter);
  if (copy.defined()) {
    require_one_device(op, {parameter, copy});
    check(copy.dtype() == DType::bf16 && copy.shape() == parameter.shape() && copy.is_contiguous(),
          op, ": got a copy ", copy.dtype(), " ", copy.shape(), ", expected a contiguous bf16 ",
          parameter.shape());
  }
  return {.dtype = parameter.dtype(),
          .count = parameter.numel(),
          .p = parameter.raw(),
          .g = gradient.raw(),
          .m = m.raw(),
          .v = moments == MomentCount::two ? v.raw() : nullptr,
          .follower = {.average = average.defined() ? average.raw() : nullptr,
                       .copy = copy.defined() ? reinterpret_cast<bf16*>(copy.raw()) : nullptr}};
}

void bump_versions(Updates updates, MomentCount moments) {
  for (const auto& [tensors, rates] : updates) {
    tensors.parameter.bump_version();
    tensors.m.bump_version();
    if (moments == MomentCount::two) tensors.v.bump_version();
    for (const Tensor& follower : {tensors.average, tensors.copy}) {
      if (follower.defined()) follower.bump_version();
    }
  }
}

const UpdateKernels& kernels_of(std::string_view op, Updates updates) {
  check(!updates.empty(), op, ": got no tensors, expected at least one");
  for (const Update& u : updates) {
    require_one_device(op, {updates[0].tensors.parameter, u.tensors.parameter});
  }
  return kernels(updates[0].tensors.parameter.device()).update;
}

StepRates rates_of(std::string_view op, const UpdateTensors& tensors, const UpdateRates& rates) {
  require_one_device(op, {tensors.parameter, rates.now.memory()});
  return {reinterpret_cast<const DeviceScalars*>(rates.now.memory().raw()), rates.lr_scale,
          rates.weight_decay};
}

AdamNumbers adam_numbers(std::string_view op, const UpdateRates& rates,
                         const AdamOptions& options) {
  const StepScalars& now = rates.now.numbers();
  check(now.beta1 == options.beta1 && now.beta2 == options.beta2, op, ": got betas ", options.beta1,
        " and ", options.beta2, ", expected the step's betas, ", now.beta1, " and ", now.beta2);
  return {.b1 = options.beta1,
          .c1 = 1 - options.beta1,
          .b2 = options.beta2,
          .c2 = 1 - options.beta2,
          .eps = options.eps};
}

}  // namespace fovea::ops::detail
