// The two-layer perceptron of a transformer block as one op.
#pragma once

#include "engine/tensor.h"

namespace fovea::ops {

/// The parameters of two linear layers: fc1 [hidden, in], bias1 [hidden], fc2 [out, hidden],
/// bias2 [out].
struct MlpWeights {
  Tensor fc1, bias1, fc2, bias2;
};

/// linear(linear_gelu(x, fc1, bias1), fc2, bias2, residual): x [..., in], residual [..., out] or
/// undefined. Where no derivative is wanted and rows are many, the hidden activations of a few of
/// them at a time stay in the cache and are never stored; the numbers are the same.
[[nodiscard]] Tensor mlp(const Tensor& x, const MlpWeights& w, const Tensor& residual = {});

}  // namespace fovea::ops
