// Softmax and log-softmax along one axis, computed in f32 for bf16.
#pragma once

#include "engine/tensor.h"

namespace fovea::ops {

/// exp(x - max) / sum, and its logarithm. A row whose maximum is -inf gives NaN, as in PyTorch.
[[nodiscard]] Tensor softmax(const Tensor& x, int axis = -1);
[[nodiscard]] Tensor log_softmax(const Tensor& x, int axis = -1);

}  // namespace fovea::ops
