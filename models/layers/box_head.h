// The perceptron that predicts boxes from the decoder's outputs.
#pragma once

#include <array>

#include "models/layers/linear.h"
#include "ops/activation.h"

namespace fovea {

/// Three layers with ReLU between them, [..., D] -> [..., 4], before the sigmoid.
class BoxHead {
 public:
  /// Initial values of the last layer; the others have PyTorch's default ones.
  struct Last {
    Init weight, bias;
  };
  BoxHead(const Scope& s, std::int64_t dim, const Last& last)
      : layers_{default_layer(s / "layers" / 0, dim), default_layer(s / "layers" / 1, dim),
                Linear(s / "layers" / 2, dim, 4, last.weight, last.bias)} {}

  [[nodiscard]] Tensor operator()(const Tensor& x) const {
    return layers_[2](ops::relu(layers_[1](ops::relu(layers_[0](x)))));
  }

 private:
  static Linear default_layer(const Scope& s, std::int64_t dim) {
    return {s, dim, dim, torch_default(dim), torch_default(dim)};
  }

  std::array<Linear, 3> layers_;
};

}  // namespace fovea
