// The nonlinearity of an MLP, by name.
#pragma once

#include "engine/base/names.h"
#include "ops/activation.h"

namespace fovea {

enum class Activation {
  gelu,
  gelu_tanh,   ///< GELU's approximation with tanh, as in SigLIP
  quick_gelu,  ///< x sigmoid(1.702 x), as in OpenAI's CLIP
  silu,
};
template <>
inline constexpr auto kNames<Activation> =
    std::to_array<Named<Activation>>({{Activation::gelu, "gelu"},
                                      {Activation::gelu_tanh, "gelu_tanh"},
                                      {Activation::quick_gelu, "quick_gelu"},
                                      {Activation::silu, "silu"}});

[[nodiscard]] inline Tensor activate(Activation kind, const Tensor& x) {
  switch (kind) {
    case Activation::gelu_tanh:
      return ops::gelu(x, ops::GeluForm::tanh);
    case Activation::quick_gelu:
      return ops::quick_gelu(x);
    case Activation::silu:
      return ops::silu(x);
    default:
      return ops::gelu(x);
  }
}

}  // namespace fovea
