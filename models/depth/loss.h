// Losses of depth in metres over the pixels whose depth is known.
#pragma once

#include <optional>

#include "engine/base/names.h"
#include "engine/tensor.h"

namespace fovea {

enum class DepthLoss {
  l1,               ///< mean of |d - d*| over the known pixels of the batch
  scale_invariant,  ///< Eigen et al. 2014, equation 4 with lambda 1/2, mean over the images
};
template <>
inline constexpr auto kNames<DepthLoss> = std::to_array<Named<DepthLoss>>(
    {{DepthLoss::l1, "l1"}, {DepthLoss::scale_invariant, "scale_invariant"}});

/// The loss of depths [B, H, W] against targets [B, H, W], both in metres; targets of 0 are not
/// known. A scalar, 0 if nothing is known. l1 divides by `count` instead of the known pixels, if
/// given. scale_invariant: with e = log d - log d* over the known pixels of an image, mean(e^2) -
/// mean(e)^2 / 2; depths must be positive. bf16 is computed in f32. Throws if the shapes differ.
[[nodiscard]] Tensor depth_loss(DepthLoss kind, const Tensor& depths, const Tensor& targets,
                                std::optional<double> count = {});
/// The number of known pixels, at least 1.
[[nodiscard]] double known_pixels(const Tensor& targets);

}  // namespace fovea
