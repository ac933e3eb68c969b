// Models as samplers see them, and classifier-free guidance (Ho and Salimans 2022).
#pragma once

#include <cstdint>
#include <functional>

#include "engine/tensor.h"

namespace fovea {

/// A diffusion model: x [B, C, H, W] at times t [B], steps of the process that it was trained on,
/// gives the predicted noise [B, C, H, W], with learned variances [B, 2 C, H, W].
using Denoiser = std::function<Tensor(const Tensor& x, const Tensor& t)>;
/// The same for classes y i64 [B].
using ConditionalDenoiser =
    std::function<Tensor(const Tensor& x, const Tensor& t, const Tensor& y)>;

struct GuidanceOptions {
  double scale = 1;           ///< 1: no guidance
  std::int64_t channels = 3;  ///< the first output channels, which are guided; 0: all of the noise
};

/// e_u + scale (e_c - e_u) in the guided channels; the others are those of `conditional`. Both are
/// outputs of a model for images with `channels` channels.
[[nodiscard]] Tensor guided_output(const Tensor& conditional, const Tensor& unconditional,
                                   std::int64_t channels, const GuidanceOptions& guidance);

/// The model for classes y i64 [B], guided away from the class `null_label`. Each call runs the
/// model once, on a batch of 2 B; without guidance on one of B, with bits as if there were none.
[[nodiscard]] Denoiser guided(ConditionalDenoiser model, const Tensor& y, std::int64_t null_label,
                              const GuidanceOptions& guidance);

}  // namespace fovea
