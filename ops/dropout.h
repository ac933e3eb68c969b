// Dropout and stochastic depth. The mask is a pure function of the key, so a forward pass can be
// repeated and a run resumed.
#pragma once

#include "engine/step_key.h"
#include "engine/tensor.h"

namespace fovea::ops {

/// Zeroes each element with probability `rate` and scales the others by 1 / (1 - rate).
[[nodiscard]] Tensor dropout(const Tensor& x, double rate, const StepKey& key);
/// Drops whole samples (axis 0): stochastic depth (Huang et al. 2016).
[[nodiscard]] Tensor drop_path(const Tensor& x, double rate, const StepKey& key);
/// residual + drop_path(branch) in one pass. The branch may be bf16 with an f32 residual; the sum
/// is then f32.
[[nodiscard]] Tensor add_drop_path(const Tensor& residual, const Tensor& branch, double rate,
                                   const StepKey& key);

}  // namespace fovea::ops
