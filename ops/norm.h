// Normalisations. Variances are biased, statistics f32 for bf16; weight and bias may be undefined,
// and may be f32 parameters beside bf16 activations.
#pragma once

#include "engine/tensor.h"

namespace fovea::ops {

/// Over the last axis: (x - mean) / sqrt(var + eps) * weight + bias.  x [..., C], weight, bias [C].
[[nodiscard]] Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias,
                                double eps = 1e-6);

/// Both [C], or undefined: no scale, no shift.
struct Affine {
  Tensor weight{}, bias{};
};
/// Both [C]: what batch norm uses in evaluation and moves in training.
struct RunningStatistics {
  Tensor mean{}, variance{};
};
struct BatchNormOptions {
  bool training = false;
  double momentum = 0.1;  ///< running = (1 - momentum) running + momentum batch
  double eps = 1e-5;
  bool relu = false;  ///< y = relu(...) in the same pass
};
/// Per channel of x [B, C, ...]. In training uses the batch's statistics and updates the running
/// ones in place (unbiased variance); else uses the running ones.
[[nodiscard]] Tensor batch_norm(const Tensor& x, const Affine& affine,
                                const RunningStatistics& running, BatchNormOptions options);

/// x [B, C, ...], channels in `groups` consecutive groups, statistics per image and group.
[[nodiscard]] Tensor group_norm(const Tensor& x, std::int64_t groups, const Affine& affine,
                                double eps = 1e-5);
/// group_norm with one channel per group.
[[nodiscard]] Tensor instance_norm(const Tensor& x, const Tensor& weight, const Tensor& bias,
                                   double eps = 1e-5);

}  // namespace fovea::ops
