// Normalisations. Variances are biased; statistics of bf16 inputs are f32; weight and bias may be
// undefined, and may be f32 parameters with bf16 activations.
#pragma once

#include <optional>

#include "engine/tensor.h"

namespace fovea::ops {

/// Of norms over the last axis.
struct RowNormOptions {
  double eps = 1e-6;  ///< added to the variance, or to the mean square
  /// Of the result; by default that of x. From f32 to bf16 takes one pass.
  std::optional<DType> dtype = {};
};
/// Over the last axis: (x - mean) / sqrt(var + eps) * weight + bias. x [..., C]; weight and bias
/// [C], or [B, C] for x [B, ..., C]: one of each per image (adaptive layer norm). On the CPU,
/// derivatives that read a result in bf16 compute it again instead of storing it.
[[nodiscard]] Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias,
                                RowNormOptions options = {});

/// Over the last axis, without centring: x / sqrt(mean(x^2) + eps) * weight.
[[nodiscard]] Tensor rms_norm(const Tensor& x, const Tensor& weight, RowNormOptions options = {});

/// Scale and shift, both [C]; an undefined tensor is skipped.
struct Affine {
  Tensor weight{}, bias{};
};
/// Running mean and variance, both [C]: used by batch norm in evaluation and updated in training.
struct RunningStatistics {
  Tensor mean{}, variance{};
};
struct BatchNormOptions {
  bool training = false;
  double momentum = 0.1;  ///< running = (1 - momentum) running + momentum batch
  double eps = 1e-5;
  bool relu = false;  ///< apply relu to y in the same pass
};
/// Per channel of x [B, C, ...]. Training uses the batch's statistics and updates the running ones
/// in place (unbiased variance); evaluation uses the running ones.
[[nodiscard]] Tensor batch_norm(const Tensor& x, const Affine& affine,
                                const RunningStatistics& running, BatchNormOptions options);

/// x [B, C, ...]; channels form `groups` consecutive groups, with statistics per image and group.
[[nodiscard]] Tensor group_norm(const Tensor& x, std::int64_t groups, const Affine& affine,
                                double eps = 1e-5);
/// silu(group_norm(...)). The derivative recomputes the input of silu instead of storing it.
[[nodiscard]] Tensor group_norm_silu(const Tensor& x, std::int64_t groups, const Affine& affine,
                                     double eps = 1e-5);
/// group_norm with one channel per group.
[[nodiscard]] Tensor instance_norm(const Tensor& x, const Tensor& weight, const Tensor& bias,
                                   double eps = 1e-5);

}  // namespace fovea::ops
