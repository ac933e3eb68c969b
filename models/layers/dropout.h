// Dropout: active in training, the identity in evaluation.
#pragma once

#include <utility>

#include "models/layers/branch.h"

namespace fovea {

/// Drops each element with probability `rate` and scales up the others (Srivastava et al. 2014).
/// Draws a key only when it drops.
class Dropout {
 public:
  explicit Dropout(double rate) : rate_(rate) {}

  [[nodiscard]] bool drops(const Context& ctx) const { return ctx.training && rate_ > 0; }
  [[nodiscard]] Tensor operator()(const Tensor& x, Context& ctx) const {
    return drops(ctx) ? ops::dropout(x, rate_, ctx.next_key()) : x;
  }
  /// Dropout applied to the output of a branch.
  [[nodiscard]] Branch operator()(Branch branch, Context& ctx) const {
    if (!drops(ctx)) return branch;
    return Branch(
        [branch = std::move(branch), rate = rate_, key = ctx.next_key()](const Tensor& x) {
          const Tensor left = ops::dropout(branch, rate, key);
          return x.defined() ? ops::add_drop_path(x, left, 0, key) : left;
        });
  }

 private:
  double rate_;
};

}  // namespace fovea
