// A linear layer, with the initial values of its place.
#pragma once

#include "models/layers/residual.h"
#include "models/scope.h"
#include "ops/dropout.h"
#include "ops/matmul.h"

namespace fovea {

/// x weight^T + bias, [..., in] -> [..., out]. weight Scope::linear_weight(), bias 0.
class Linear {
 public:
  Linear(const Scope& s, std::int64_t in, std::int64_t out, bool bias = true)
      : weight_(s.param("weight", {out, in}, s.linear_weight(in, out))) {
    if (bias) bias_ = s.param("bias", {out}, constant(0));
  }

  /// The same with other initial values.
  Linear(const Scope& s, std::int64_t in, std::int64_t out, const Init& weight, const Init& bias)
      : weight_(s.param("weight", {out, in}, weight)), bias_(s.param("bias", {out}, bias)) {}

  [[nodiscard]] Tensor operator()(const Tensor& x) const { return ops::linear(x, weight_, bias_); }
  /// The last layer of a branch, with what the branch is added to: inside the product where nothing
  /// is dropped.
  [[nodiscard]] Tensor added_to(const Residual& r, const Tensor& x) const {
    if (r.rate == 0) return ops::linear(x, weight_, bias_, r.x);
    return ops::add_drop_path(r.x, (*this)(x), r.rate, r.key);
  }

  [[nodiscard]] const Tensor& weight() const { return weight_; }
  [[nodiscard]] const Tensor& bias() const { return bias_; }  ///< undefined where there is none

 private:
  Tensor weight_, bias_;
};

}  // namespace fovea
