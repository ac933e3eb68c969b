// The hybrid loss of a diffusion model that predicts the noise and, with learned variances, an
// interpolation of their logarithms (Nichol and Dhariwal 2021, section 3.1).
#pragma once

#include "models/diffusion/process.h"

namespace fovea {

/// Losses of each image, [B].
struct DiffusionLoss {
  Tensor mse;  ///< mean squared error of the predicted noise
  /// Mean of the step's term of the variational bound, in bits: its gradient reaches the predicted
  /// variances only. Undefined without learned variances.
  Tensor vb{};

  /// The mean over images of mse + vb_weight vb, a scalar.
  [[nodiscard]] Tensor total(double vb_weight = 1) const;
};

/// A noised batch: images x0 and noise [B, C, H, W], and their steps t i64 [B] on the process's
/// device.
struct NoisedImages {
  Tensor x0, t, noise;
};

/// `output` is the model's, [B, C, H, W] or, with learned variances, [B, 2 C, H, W]. bf16 is
/// computed in f32.
[[nodiscard]] DiffusionLoss diffusion_loss(const DiffusionProcess& process,
                                           const NoisedImages& images, const Tensor& output);

}  // namespace fovea
