// Softmax on CUDA; a build without CUDA links stubs from no_cuda.cpp.
#pragma once

#include "engine/tensor.h"

namespace fovea::cuda {

/// Along the last axis of a contiguous tensor; `log` selects log-softmax.
[[nodiscard]] Tensor softmax(const Tensor& x, bool log);
/// dx from the saved output y and the upstream gradient.
[[nodiscard]] Tensor softmax_backward(const Tensor& y, const Tensor& dy, bool log);

}  // namespace fovea::cuda
