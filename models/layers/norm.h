// Normalisation over the channels, with its parameters: layer normalisation (Ba et al. 2016) and
// RMS normalisation (Zhang and Sennrich 2019).
#pragma once

#include "engine/base/names.h"
#include "models/context.h"
#include "models/scope.h"
#include "ops/norm.h"

namespace fovea {

enum class NormKind { none, layernorm, rmsnorm };
template <>
inline constexpr auto kNames<NormKind> = std::to_array<Named<NormKind>>(
    {{NormKind::none, "none"}, {NormKind::layernorm, "layernorm"}, {NormKind::rmsnorm, "rmsnorm"}});

struct NormConfig {
  double eps = 1e-6;
  NormKind kind = NormKind::layernorm;
  double weight = 1;  ///< initial weight
};

/// Normalises over the last axis, [..., C] -> [..., C].
/// layernorm: (x - mean) / sqrt(var + eps) * weight + bias; rmsnorm: x / sqrt(mean(x^2) + eps) *
/// weight; none: the identity, without parameters.
class Norm {
 public:
  Norm(const Scope& s, std::int64_t dim, const NormConfig& c) : config_(c) {
    if (c.kind == NormKind::none) return;
    weight_ = s.param("weight", {dim}, constant(c.weight));
    if (c.kind == NormKind::layernorm) bias_ = s.param("bias", {dim}, constant(0));
  }
  Norm(const Scope& s, std::int64_t dim, double eps) : Norm(s, dim, NormConfig{eps}) {}

  [[nodiscard]] Tensor operator()(const Tensor& x) const { return normalised(x, x.dtype()); }
  /// Normalises and converts to the dtype of activations, at the start of a branch.
  [[nodiscard]] Tensor operator()(const Tensor& x, const Context& ctx) const {
    return normalised(x, ctx.activations);
  }

 private:
  [[nodiscard]] Tensor normalised(const Tensor& x, DType dtype) const {
    switch (config_.kind) {
      case NormKind::layernorm:
        return ops::layer_norm(x, weight_, bias_, {config_.eps, dtype});
      case NormKind::rmsnorm:
        return ops::rms_norm(x, weight_, {config_.eps, dtype});
      default:
        return x.to(dtype);
    }
  }

  NormConfig config_;
  Tensor weight_, bias_;
};

/// Weight 1 and bias 0 for each of `dim` channels of a map's norm.
[[nodiscard]] inline ops::Affine affine_parameters(const Scope& s, std::int64_t dim) {
  return {s.param("weight", {dim}, constant(1)), s.param("bias", {dim}, constant(0))};
}

}  // namespace fovea
