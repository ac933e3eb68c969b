// A linear layer with timm's initial values.
#pragma once

#include "models/scope.h"
#include "ops/matmul.h"

namespace fovea {

/// x weight^T + bias, [..., in] -> [..., out]. weight trunc_normal(0.02), bias 0.
class Linear {
 public:
  Linear(const Scope& s, std::int64_t in, std::int64_t out, bool bias = true)
      : weight_(s.param("weight", {out, in}, trunc_normal(0.02))) {
    if (bias) bias_ = s.param("bias", {out}, constant(0));
  }

  /// The same with other initial values.
  Linear(const Scope& s, std::int64_t in, std::int64_t out, const Init& weight, const Init& bias)
      : weight_(s.param("weight", {out, in}, weight)), bias_(s.param("bias", {out}, bias)) {}

  [[nodiscard]] Tensor operator()(const Tensor& x) const { return ops::linear(x, weight_, bias_); }
  /// The same with GELU (erf form) inside the product.
  [[nodiscard]] Tensor with_gelu(const Tensor& x) const {
    return ops::linear_gelu(x, weight_, bias_);
  }

 private:
  Tensor weight_, bias_;
};

}  // namespace fovea
