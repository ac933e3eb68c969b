// Norms and clipping of all gradients of a model, treated as one long vector.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/names.h"
#include "models/scope.h"

namespace fovea {

/// Sum of squares over all gradients: one f64 on their device, added in a fixed order. NaN or
/// infinite if any gradient is. Missing gradients count as zero.
[[nodiscard]] Tensor gradient_squares(const ParameterStore& store);
/// Norm over all gradients. Waits for the device.
[[nodiscard]] double gradient_norm(const ParameterStore& store);

/// The quantity that clipping bounds: the norm of all gradients, each value, or each unit's norm.
enum class ClipMode { norm, value, agc };
template <>
inline constexpr auto kNames<ClipMode> = std::to_array<Named<ClipMode>>({{ClipMode::norm, "norm"},
                                                                         {ClipMode::value, "value"},
                                                                         {ClipMode::agc, "agc"}});

struct ClipOptions {
  ClipMode mode = ClipMode::norm;
  std::optional<double> limit{};  ///< empty: no clipping
};

/// The size of a step's gradients, which are sums over its batches.
struct GradientSize {
  Tensor squares{};              ///< gradient_squares() of the sums
  std::optional<double> norm{};  ///< norm of the means, if the host knows it
  double scale = 1;              ///< turns sums into means
};

/// Clips the mean gradients. Returns the factor by which the update must multiply the gradients: a
/// norm that the host knows becomes a part of it, and the gradients are unchanged. A norm that only
/// the device knows is applied to the gradients there, so the host does not wait.
[[nodiscard]] double clip_gradients(const ParameterStore& store, const ClipOptions& options,
                                    const GradientSize& size);

/// min(1, limit / (norm + 1e-6)): the factor that scales gradients to a norm of at most `limit`.
[[nodiscard]] double clip_scale(double norm, double limit);
/// Multiplies all gradients in place by clip_scale(scale * sqrt(squares), limit). The host does not
/// wait for the norm.
void clip_by_norm(const ParameterStore& store, const Tensor& squares, double limit, double scale);
/// Clamps every element of every gradient to [-limit, limit], in place.
void clip_by_value(const ParameterStore& store, double limit);
/// Adaptive gradient clipping (Brock et al. 2021, equation 3), in place, as timm's
/// adaptive_clip_grad: bounds a gradient's norm per output unit (a row of a matrix, a filter, a
/// whole vector) by factor * max(norm of the unit's weights, 1e-3). Heads are excluded. `scale` is
/// the factor that the gradients will be multiplied by later.
void clip_adaptively(const ParameterStore& store, double factor, double scale = 1);

/// Throws unless every trainable parameter has a gradient, except those that `may_lack_one`.
void require_gradients(const ParameterStore& store,
                       const std::function<bool(const Parameter&)>& may_lack_one);
/// Trainable parameters with a NaN or an infinity in their gradient.
[[nodiscard]] std::vector<std::string> parameters_with_bad_gradient(const ParameterStore& store);

}  // namespace fovea
