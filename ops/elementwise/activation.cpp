// Activations: y = f(x) and its derivative, both as functors of activation_functors.h. pointwise.h
// records them; map.h shows how a functor gets to its loop.
#include "ops/activation.h"

#include "ops/elementwise/pointwise.h"

namespace fovea::ops {

using namespace detail;  // NOLINT: pointwise and the functors

Tensor relu(const Tensor& x) { return pointwise_from_output("relu", x, Relu{}, ReluGrad{}); }

Tensor gelu(const Tensor& x, GeluForm form) {
  return form == GeluForm::erf
             ? pointwise({"gelu", {{"form", "erf"}}}, x, Gelu{}, GeluGrad{})
             : pointwise({"gelu", {{"form", "tanh"}}}, x, GeluTanh{}, GeluTanhGrad{});
}

Tensor quick_gelu(const Tensor& x) {
  return pointwise("quick_gelu", x, QuickGelu{}, QuickGeluGrad{});
}
Tensor sigmoid(const Tensor& x) {
  return pointwise_from_output("sigmoid", x, Sigmoid{}, SigmoidGrad{});
}
Tensor tanh(const Tensor& x) { return pointwise_from_output("tanh", x, Tanh{}, TanhGrad{}); }
Tensor silu(const Tensor& x) { return pointwise("silu", x, Silu{}, SiluGrad{}); }
Tensor softplus(const Tensor& x) { return pointwise("softplus", x, Softplus{}, SoftplusGrad{}); }
Tensor logsigmoid(const Tensor& x) {
  return pointwise("logsigmoid", x, LogSigmoid{}, LogSigmoidGrad{});
}

}  // namespace fovea::ops
