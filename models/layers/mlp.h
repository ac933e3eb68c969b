// The two-layer perceptron of a transformer block.
#pragma once

#include "models/layers/linear.h"
#include "ops/mlp.h"

namespace fovea {

/// residual + fc2(gelu(fc1(x))), [B, N, C] -> [B, N, out] through `hidden` channels; out is C
/// unless stated.
class Mlp {
 public:
  Mlp(const Scope& s, std::int64_t dim, std::int64_t hidden) : Mlp(s, dim, hidden, dim) {}
  Mlp(const Scope& s, std::int64_t dim, std::int64_t hidden, std::int64_t out)
      : fc1_(s / "fc1", dim, hidden), fc2_(s / "fc2", hidden, out) {}

  [[nodiscard]] Tensor added_to(const Residual& r, const Tensor& x) const {
    if (r.rate == 0) return ops::mlp(x, weights(), r.x);
    return ops::add_drop_path(r.x, ops::mlp(x, weights()), r.rate, r.key);
  }

 private:
  [[nodiscard]] ops::MlpWeights weights() const {
    return {fc1_.weight(), fc1_.bias(), fc2_.weight(), fc2_.bias()};
  }

  Linear fc1_, fc2_;
};

}  // namespace fovea
