// Dropout and stochastic depth: active in training, the identity in evaluation.
#pragma once

#include "models/context.h"
#include "models/layers/branch.h"

namespace fovea {

/// Drops each element with probability `rate` and scales up the others (Srivastava et al. 2014).
/// Draws a key only when it drops.
class Dropout {
 public:
  explicit Dropout(double rate) : rate_(rate) {}

  [[nodiscard]] bool drops(const Context& ctx) const { return ctx.training && rate_ > 0; }
  [[nodiscard]] Tensor operator()(const Tensor& x, Context& ctx) const;
  /// Dropout applied to the output of a branch.
  [[nodiscard]] Branch operator()(Branch branch, Context& ctx) const;

 private:
  double rate_;
};

/// Stochastic depth (Huang et al. 2016). In training the branch is dropped for whole images with
/// probability `rate`, and scaled up for the others. Draws a key in every mode.
class DropPath {
 public:
  explicit DropPath(double rate) : rate_(rate) {}

  [[nodiscard]] Branch operator()(Branch branch, Context& ctx) const;

 private:
  double rate_;
};

}  // namespace fovea
