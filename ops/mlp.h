// The two-layer MLP of a transformer block as one op.
#pragma once

#include "engine/tensor.h"
#include "ops/activation.h"

namespace fovea::ops {

/// Parameters of two linear layers: fc1 [hidden, in], bias1 [hidden], fc2 [out, hidden], bias2
/// [out].
struct MlpWeights {
  Tensor fc1, bias1, fc2, bias2;
};

/// linear(linear_gelu(x, fc1, bias1, form), fc2, bias2, residual): x [..., in], residual [..., out]
/// or undefined. When no derivative is needed and there are many rows, they are processed a few at
/// a time and the hidden activations stay in the cache; the results are identical.
[[nodiscard]] Tensor mlp(const Tensor& x, const MlpWeights& w, const Tensor& residual = {},
                         GeluForm form = GeluForm::erf);

}  // namespace fovea::ops
