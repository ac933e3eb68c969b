// The two-layer perceptron of a transformer block.
#pragma once

#include "models/layers/linear.h"
#include "ops/mlp.h"

namespace fovea {

/// fc2(gelu(fc1(x))), a branch of a block: [B, N, C] -> [B, N, out] through `hidden` channels; out
/// is C unless stated.
class Mlp {
 public:
  Mlp(const Scope& s, std::int64_t dim, std::int64_t hidden) : Mlp(s, dim, hidden, dim) {}
  Mlp(const Scope& s, std::int64_t dim, std::int64_t hidden, std::int64_t out)
      : fc1_(s / "fc1", dim, hidden), fc2_(s / "fc2", hidden, out) {}

  [[nodiscard]] Branch operator()(const Tensor& x) const {
    return Branch([x, weights = weights()](const Tensor& residual) {
      return ops::mlp(x, weights, residual);
    });
  }

 private:
  [[nodiscard]] ops::MlpWeights weights() const {
    return {fc1_.weight(), fc1_.bias(), fc2_.weight(), fc2_.bias()};
  }

  Linear fc1_, fc2_;
};

}  // namespace fovea
