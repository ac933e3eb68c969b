// Layer normalisation with its scale and shift.
#pragma once

#include "models/context.h"
#include "models/scope.h"
#include "ops/norm.h"

namespace fovea {

/// (x - mean) / sqrt(var + eps) * weight + bias over the last axis, [..., C] -> [..., C].
class LayerNorm {
 public:
  LayerNorm(const Scope& s, std::int64_t dim, double eps)
      : weight_(s.param("weight", {dim}, constant(1))),
        bias_(s.param("bias", {dim}, constant(0))),
        eps_(eps) {}

  [[nodiscard]] Tensor operator()(const Tensor& x) const {
    return ops::layer_norm(x, weight_, bias_, eps_);
  }
  /// Normalises and converts to the dtype of activations, at the start of a branch.
  [[nodiscard]] Tensor operator()(const Tensor& x, const Context& ctx) const {
    return (*this)(x).to(ctx.activations);
  }

 private:
  Tensor weight_, bias_;
  double eps_;
};

}  // namespace fovea
