// The two-layer perceptron of PyTorch's transformer layers.
#pragma once

#include "models/layers/dropout.h"
#include "models/layers/linear.h"
#include "ops/activation.h"

namespace fovea {

struct FeedForwardConfig {
  std::int64_t dim = 256, hidden = 2048;
  double dropout = 0;  ///< rate for the hidden values and for the outputs
};

/// linear2(relu(linear1(x))), a branch: [B, N, D] -> [B, N, D]. Initially Xavier's weights and
/// PyTorch's default biases.
class FeedForward {
 public:
  FeedForward(const Scope& s, const FeedForwardConfig& c)
      : linear1_(s / "linear1", c.dim, c.hidden, xavier(c.dim, c.hidden), torch_default(c.dim)),
        linear2_(s / "linear2", c.hidden, c.dim, xavier(c.hidden, c.dim), torch_default(c.hidden)),
        drop_(c.dropout) {}

  [[nodiscard]] Branch operator()(const Tensor& x, Context& ctx) const {
    const Tensor hidden = ops::relu(linear1_(x.to(ctx.activations)));
    return drop_(linear2_.branch(drop_(hidden, ctx)), ctx);
  }

 private:
  Linear linear1_, linear2_;
  Dropout drop_;
};

}  // namespace fovea
