// A linear layer, with the initial values of its place.
#pragma once

#include "models/layers/branch.h"
#include "models/scope.h"
#include "ops/matmul.h"

namespace fovea {

/// x weight^T + bias, [..., in] -> [..., out]. weight Scope::linear_weight(), bias 0.
class Linear {
 public:
  Linear(const Scope& s, std::int64_t in, std::int64_t out, bool bias = true)
      : weight_(s.param("weight", {out, in}, s.linear_weight(in, out))) {
    if (bias) bias_ = s.over({}).param("bias", {out}, constant(0));  // of outputs, not of places
  }

  /// The same with other initial values.
  Linear(const Scope& s, std::int64_t in, std::int64_t out, const Init& weight, const Init& bias)
      : weight_(s.param("weight", {out, in}, weight)), bias_(s.param("bias", {out}, bias)) {}

  [[nodiscard]] Tensor operator()(const Tensor& x) const { return ops::linear(x, weight_, bias_); }
  /// The same as the last layer of a branch.
  [[nodiscard]] Branch branch(const Tensor& x) const {
    return Branch([x, weight = weight_, bias = bias_](const Tensor& residual) {
      return ops::linear(x, weight, bias, residual);
    });
  }

  [[nodiscard]] const Tensor& weight() const { return weight_; }
  [[nodiscard]] const Tensor& bias() const { return bias_; }  ///< undefined where there is none

 private:
  Tensor weight_, bias_;
};

}  // namespace fovea
