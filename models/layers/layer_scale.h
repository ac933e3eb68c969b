// Layer scale (Touvron et al. 2021, "Going deeper with Image Transformers"): a learned factor per
// channel on the output of a residual branch.
#pragma once

#include <utility>

#include "models/layers/branch.h"
#include "models/scope.h"
#include "ops/arithmetic.h"

namespace fovea {

/// Multiplies a branch's output [..., D] by a parameter [D], which starts at `initial`. With
/// `initial` 0 there is no parameter and the branch stays as it is.
class LayerScale {
 public:
  LayerScale(const Scope& s, std::int64_t dim, double initial, std::string_view name = "gamma") {
    if (initial != 0) gamma_ = s.as(Role::other).param(name, {dim}, constant(initial));
  }

  [[nodiscard]] Branch operator()(Branch branch) const {
    if (!gamma_.defined()) return branch;
    return std::move(branch).then([gamma = gamma_](const Tensor& x) { return x * gamma; });
  }

 private:
  Tensor gamma_;
};

}  // namespace fovea
