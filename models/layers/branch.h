// A residual branch: code such as x + attention(norm(x)) reads like the formula, and the addition
// is fused into the branch's last matrix product.
#pragma once

#include <functional>
#include <utility>

#include "engine/tensor.h"
#include "models/context.h"
#include "ops/arithmetic.h"
#include "ops/dropout.h"

namespace fovea {

/// A residual branch whose last layer is still pending: x + branch fuses the addition of x into
/// that layer; converted to a Tensor it is the branch alone. The shape is that of x, [B, ...].
class Branch {
 public:
  /// Computes the last layer and adds `x` to it, if `x` is defined.
  using Last = std::function<Tensor(const Tensor& x)>;

  explicit Branch(Last last) : last_(std::move(last)) {}

  // NOLINTNEXTLINE(google-explicit-constructor)
  [[nodiscard]] operator Tensor() const { return last_({}); }
  [[nodiscard]] friend Tensor operator+(const Tensor& x, const Branch& branch) {
    return branch.last_(x);
  }
  /// The branch with one more layer, f, after its last one.
  template <class F>
  [[nodiscard]] Branch then(F f) const {
    return Branch([last = last_, f = std::move(f)](const Tensor& x) {
      const Tensor y = f(last({}));
      return x.defined() ? ops::add(x, y) : y;
    });
  }

 private:
  Last last_;
};

/// Stochastic depth (Huang et al. 2016). In training the branch is dropped for whole images with
/// probability `rate`, and scaled up for the others. Draws a key in every mode.
class DropPath {
 public:
  explicit DropPath(double rate) : rate_(rate) {}

  [[nodiscard]] Branch operator()(Branch branch, Context& ctx) const {
    const StepKey key = ctx.next_key();
    if (!ctx.training || rate_ == 0) return branch;
    return Branch([branch = std::move(branch), rate = rate_, key](const Tensor& x) {
      return ops::add_drop_path(x, branch, rate, key);
    });
  }

 private:
  double rate_;
};

}  // namespace fovea
