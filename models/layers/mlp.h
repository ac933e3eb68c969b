// The two-layer perceptron of a transformer block.
#pragma once

#include "models/layers/dropout.h"
#include "models/layers/linear.h"
#include "ops/activation.h"
#include "ops/mlp.h"

namespace fovea {

/// fc2(gelu(fc1(x))), a branch of a block: [B, N, in] -> [B, N, out] through `hidden` channels.
/// `drop` is the dropout rate of the hidden values and of the outputs in training.
class Mlp {
 public:
  struct Widths {
    std::int64_t in, hidden, out;
  };
  Mlp(const Scope& s, const Widths& w, double drop)
      : fc1_(s / "fc1", w.in, w.hidden), fc2_(s / "fc2", w.hidden, w.out), drop_(drop) {}

  [[nodiscard]] Branch operator()(const Tensor& x, Context& ctx) const {
    if (drop_.drops(ctx)) return drop_(fc2_.branch(drop_(ops::gelu(fc1_(x)), ctx)), ctx);
    return Branch([x, weights = weights()](const Tensor& residual) {
      return ops::mlp(x, weights, residual);
    });
  }

 private:
  [[nodiscard]] ops::MlpWeights weights() const {
    return {fc1_.weight(), fc1_.bias(), fc2_.weight(), fc2_.bias()};
  }

  Linear fc1_, fc2_;
  Dropout drop_;
};

}  // namespace fovea
