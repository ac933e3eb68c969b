// Helpers of the optimizer steps above the kernels: checks, versions, the numbers of a step.
#pragma once

#include <string_view>

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
/// Records that an update changed the parameter and its moments.
void bump_versions(const UpdateTensors& tensors, MomentCount moments);

/// The rates in the kernels' form; throws unless they are on the parameter's device.
[[nodiscard]] StepRates rates_of(std::string_view op, const UpdateTensors& tensors,
                                 const UpdateRates& rates);
/// Throws unless the step's scalars were written for these betas.
[[nodiscard]] AdamNumbers adam_numbers(std::string_view op, const UpdateRates& rates,
                                       const AdamOptions& options);

}  // namespace fovea::ops::detail
