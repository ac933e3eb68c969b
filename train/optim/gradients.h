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

/// The number by which an update multiplies the gradients.
struct GradientScale {
  double factor = 1;
  /// If defined: times clip_scale(factor sqrt(squares), limit), which the device computes.
  Tensor squares{};
  double limit = 0;
};

/// Clips the mean gradients: by value and unit in place, by norm in the scale that it returns.
[[nodiscard]] GradientScale clip_gradients(const ParameterStore& store, const ClipOptions& options,
                                           const GradientSize& size);

inline constexpr double kClipMargin = 1e-6;  // PyTorch's
/// min(1, limit / (norm + kClipMargin)): scales gradients to a norm of at most `limit`.
[[nodiscard]] double clip_scale(double norm, double limit);
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
