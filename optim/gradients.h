// All gradients of a model seen as one long vector.
#pragma once

#include <string>
#include <vector>

#include "base/names.h"
#include "models/scope.h"

namespace fovea {

/// The sum of squares over every gradient, one f64 on their device, in a fixed order. NaN or
/// infinite when any gradient is. Missing gradients count as zero.
[[nodiscard]] Tensor gradient_squares(const ParameterStore& store);
/// Its root. Waits for the device.
[[nodiscard]] double gradient_norm(const ParameterStore& store);

/// What a clipped step bounds: the norm of all gradients, each value, or each unit's norm.
enum class ClipMode { norm, value, agc };
template <>
inline constexpr auto kNames<ClipMode> = std::to_array<Named<ClipMode>>({{ClipMode::norm, "norm"},
                                                                         {ClipMode::value, "value"},
                                                                         {ClipMode::agc, "agc"}});

/// min(1, limit / (norm + 1e-6)): what gradients are multiplied by so that their norm stays within
/// `limit`.
[[nodiscard]] double clip_scale(double norm, double limit);
/// The same of scale * sqrt(squares), by which all gradients are multiplied in place: the host does
/// not wait for the norm.
void clip_by_norm(const ParameterStore& store, const Tensor& squares, double limit, double scale);
/// Brings every element of every gradient into [-limit, limit], in place.
void clip_by_value(const ParameterStore& store, double limit);
/// Adaptive gradient clipping (Brock et al. 2021, equation 3), in place, as timm's
/// adaptive_clip_grad: a gradient's norm per output unit (a row of a matrix, a filter, a whole
/// vector) stays within factor * max(norm of the unit's weights, 1e-3). Heads are left out. `scale`
/// is what the gradients will be multiplied by.
void clip_adaptively(const ParameterStore& store, double factor, double scale = 1);

/// Trainable parameters without a gradient.
[[nodiscard]] std::vector<Parameter> parameters_without_gradient(const ParameterStore& store);
/// Trainable parameters with a NaN or an infinity in their gradient.
[[nodiscard]] std::vector<std::string> parameters_with_bad_gradient(const ParameterStore& store);

}  // namespace fovea
