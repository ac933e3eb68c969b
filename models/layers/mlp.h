// The two-layer perceptron of a transformer block.
#pragma once

#include "models/layers/linear.h"

namespace fovea {

/// fc2(gelu(fc1(x))), [B, N, C] -> [B, N, out] through `hidden` channels; out is C unless stated.
class Mlp {
 public:
  Mlp(const Scope& s, std::int64_t dim, std::int64_t hidden) : Mlp(s, dim, hidden, dim) {}
  Mlp(const Scope& s, std::int64_t dim, std::int64_t hidden, std::int64_t out)
      : fc1_(s / "fc1", dim, hidden), fc2_(s / "fc2", hidden, out) {}

  [[nodiscard]] Tensor operator()(const Tensor& x) const {
    return fc2_(fc1_.with_gelu(x));  // [B, N, hidden] in between
  }

 private:
  Linear fc1_, fc2_;
};

}  // namespace fovea
