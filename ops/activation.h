// Pointwise nonlinearities. Formulas and derivatives: ops/elementwise/activation_functors.h.
#pragma once

#include "engine/tensor.h"

namespace fovea::ops {

enum class GeluForm { erf, tanh };

[[nodiscard]] Tensor relu(const Tensor& x);                                 ///< derivative 0 at 0
[[nodiscard]] Tensor gelu(const Tensor& x, GeluForm form = GeluForm::erf);  ///< x Phi(x)
[[nodiscard]] Tensor quick_gelu(const Tensor& x);  ///< x sigmoid(1.702 x), CLIP's
[[nodiscard]] Tensor sigmoid(const Tensor& x);     ///< 1 / (1 + exp(-x))
[[nodiscard]] Tensor tanh(const Tensor& x);        ///< hyperbolic tangent
[[nodiscard]] Tensor silu(const Tensor& x);        ///< x sigmoid(x)
[[nodiscard]] Tensor softplus(const Tensor& x);    ///< log(1 + exp(x)) without overflow
[[nodiscard]] Tensor logsigmoid(const Tensor& x);  ///< -softplus(-x)

/// relu of a temporary: without a tape the result takes the memory of `x`, unless another handle
/// shares it.
[[nodiscard]] Tensor relu(Tensor&& x);

}  // namespace fovea::ops
