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
      : layers_{Linear::torch(s / "layers" / 0, dim, dim),
                Linear::torch(s / "layers" / 1, dim, dim),
                Linear(s / "layers" / 2, dim, 4, last.weight, last.bias)} {}

  [[nodiscard]] Tensor operator()(const Tensor& x) const {
    return layers_[2](ops::relu(layers_[1](ops::relu(layers_[0](x)))));
  }

 private:
  std::array<Linear, 3> layers_;
};

}  // namespace fovea
