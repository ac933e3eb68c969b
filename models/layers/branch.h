// What a block adds to what enters it: x + attention(norm(x)) reads like the formula, and the sum
// is inside the branch's last product.
#pragma once

#include <functional>
#include <utility>

#include "engine/tensor.h"
#include "models/context.h"
#include "ops/dropout.h"

namespace fovea {

/// A branch of a block whose last layer is still to be computed: x + branch adds x inside that
/// layer; as a Tensor it is the branch alone. [B, ...], as x.
class Branch {
 public:
  /// Computes the last layer and adds `x` to it, if that is defined.
  using Last = std::function<Tensor(const Tensor& x)>;

  explicit Branch(Last last) : last_(std::move(last)) {}

  // NOLINTNEXTLINE(google-explicit-constructor)
  [[nodiscard]] operator Tensor() const { return last_({}); }
  [[nodiscard]] friend Tensor operator+(const Tensor& x, const Branch& branch) {
    return branch.last_(x);
  }

 private:
  Last last_;
};

/// Stochastic depth (Huang et al. 2016): in training whole images of a branch are dropped with
/// probability `rate`, and the others are scaled up. Draws a key in any case.
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
