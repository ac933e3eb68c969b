// One derivative of a whole function: along a random direction in the space of all its inputs.
#pragma once

#include "engine/gradcheck.h"

namespace fovea::tests {

/// For y = f(x...), a random cotangent w and a random direction v in all inputs that require a
/// gradient: (<w, f(x + h v)> - <w, f(x - h v)>) / 2h against the sum of <g, v>, in f64. A gradient
/// that is wrong in any entry of any input shows, for two values of f instead of four for each
/// entry; which entry it is does not. The result counts one entry.
[[nodiscard]] GradcheckResult check_direction(const TensorFn& f, const std::vector<Tensor>& inputs,
                                              const GradcheckOptions& options);

}  // namespace fovea::tests
