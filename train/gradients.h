// All gradients of a model seen as one long vector.
#pragma once

#include <string>
#include <vector>

#include "models/scope.h"

namespace fovea {

/// sqrt of the sum of squares over every gradient, in f64 and in a fixed order. NaN or infinite
/// when any gradient is. Missing gradients count as zero.
[[nodiscard]] double gradient_norm(const ParameterStore& store);

/// min(1, limit / (norm + 1e-6)): what gradients are multiplied by so that their norm stays within
/// `limit`.
[[nodiscard]] double clip_scale(double norm, double limit);

/// Trainable parameters without a gradient.
[[nodiscard]] std::vector<std::string> parameters_without_gradient(const ParameterStore& store);
/// Trainable parameters with a NaN or an infinity in their gradient.
[[nodiscard]] std::vector<std::string> parameters_with_bad_gradient(const ParameterStore& store);

}  // namespace fovea
