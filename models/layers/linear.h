// A linear layer, initialised as its Scope prescribes.
#pragma once

#include <array>

#include "models/layers/branch.h"
#include "models/scope.h"
#include "ops/matmul.h"

namespace fovea {

/// x weight^T + bias, [..., in] -> [..., out]. Initially weight is Scope::linear_weight(), bias 0.
class Linear {
 public:
  Linear(const Scope& s, std::int64_t in, std::int64_t out, bool bias = true)
      : weight_(s.param("weight", {out, in}, s.linear_weight(in, out))) {
    if (bias) bias_ = s.over({}).param("bias", {out}, constant(0));  // on no grid
  }

  /// A linear layer with other initial values; an empty `bias` makes none.
  Linear(const Scope& s, std::int64_t in, std::int64_t out, const Init& weight, const Init& bias)
      : weight_(s.param("weight", {out, in}, weight)) {
    if (bias) bias_ = s.param("bias", {out}, bias);
  }
  /// A linear layer from sizes[0] to sizes[1] channels, its initial weight multiplied by `factor`.
  [[nodiscard]] static Linear scaled(const Scope& s, std::array<std::int64_t, 2> sizes, bool bias,
                                     double factor) {
    const auto [in, out] = sizes;
    if (factor == 1) return {s, in, out, bias};
    return {s, in, out, times(s.linear_weight(in, out), factor), bias ? constant(0) : Init()};
  }
  /// A linear layer with PyTorch's default initial values.
  [[nodiscard]] static Linear torch(const Scope& s, std::int64_t in, std::int64_t out) {
    return {s, in, out, torch_default(in), torch_default(in)};
  }

  [[nodiscard]] Tensor operator()(const Tensor& x) const { return ops::linear(x, weight_, bias_); }
  /// The layer as the last one of a residual branch.
  [[nodiscard]] Branch branch(const Tensor& x) const {
    return Branch([x, weight = weight_, bias = bias_](const Tensor& residual) {
      return ops::linear(x, weight, bias, residual);
    });
  }

  [[nodiscard]] const Tensor& weight() const { return weight_; }
  /// Undefined for a layer without bias.
  [[nodiscard]] const Tensor& bias() const { return bias_; }

 private:
  Tensor weight_, bias_;
};

}  // namespace fovea
