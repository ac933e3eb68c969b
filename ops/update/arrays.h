// Helpers of the optimizer steps above the kernels: checks, versions, the numbers of a step.
#pragma once

#include <string_view>
#include <vector>

#include "engine/op_label.h"
#include "ops/update.h"
#include "ops/update/call.h"

namespace fovea::ops::detail {

/// Throws unless t is f32 or f64 and contiguous, as in-place updates require.
void require_updatable(std::string_view op, std::string_view what, const Tensor& t);
/// Throws unless t is contiguous and has the shape, dtype and device of `changed`.
void require_like(std::string_view op, std::string_view what, const Tensor& t,
                  const Tensor& changed);

/// The number of moments that an optimizer keeps: m, or m and v.
enum class MomentCount { one, two };

/// The tensors in the kernels' form; throws if they do not fit each other.
[[nodiscard]] UpdateArrays arrays_of(std::string_view op, const UpdateTensors& tensors,
                                     MomentCount moments);
/// Records that a step changed the parameters and their moments.
void bump_versions(Updates updates, MomentCount moments);

/// The rates in the kernels' form; throws unless they are on the parameter's device.
[[nodiscard]] StepRates rates_of(std::string_view op, const UpdateTensors& tensors,
                                 const UpdateRates& rates);

/// call_of(update, arrays, rates) of each tensor; throws if tensors do not fit each other.
template <class CallOf>
[[nodiscard]] auto calls_of(std::string_view op, Updates updates, MomentCount moments,
                            const CallOf& call_of) {
  std::vector<decltype(call_of(updates[0], UpdateArrays{}, StepRates{}))> calls;
  calls.reserve(updates.size());
  for (const Update& u : updates) {
    calls.push_back(
        call_of(u, arrays_of(op, u.tensors, moments), rates_of(op, u.tensors, u.rates)));
  }
  return calls;
}
/// The kernels of the device of the tensors; throws unless they are on one.
[[nodiscard]] const UpdateKernels& kernels_of(std::string_view op, Updates updates);
/// Throws unless the step's scalars were written for these betas.
[[nodiscard]] AdamNumbers adam_numbers(std::string_view op, const UpdateRates& rates,
                                       const AdamOptions& options);

}  // namespace fovea::ops::detail
