// One derivative of a whole function: along a random direction in the space of all its inputs.
#pragma once

#include "engine/gradcheck.h"

namespace fovea::tests {

/// For y = f(x...), a random cotangent w and a random direction v in all inputs that require a
/// gradient: the sum of <g, v> against gradcheck's difference of <w, f(x + t v)> in t, with h =
/// options.step, in f64. A gradient that is wrong in any entry of any input shows, for four values
/// of f instead of four for each entry; which entry it is does not. The result counts one entry.
[[nodiscard]] GradcheckResult check_direction(const TensorFn& f, const std::vector<Tensor>& inputs,
                                              const GradcheckOptions& options);

}  // namespace fovea::tests
