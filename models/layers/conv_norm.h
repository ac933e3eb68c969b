// A convolution without bias and the batch norm that follows it, as in residual networks (He et al.
// 2015).
#pragma once

#include <optional>

#include "engine/base/names.h"
#include "models/context.h"
#include "models/layers/running_buffers.h"
#include "models/scope.h"
#include "ops/conv.h"

namespace fovea {

enum class ConvNormKind {
  frozen,  ///< weight, bias and statistics are buffers that nothing changes
  batch,   ///< trained, with the batch's statistics in training
};
template <>
inline constexpr auto kNames<ConvNormKind> = std::to_array<Named<ConvNormKind>>(
    {{ConvNormKind::frozen, "frozen"}, {ConvNormKind::batch, "batch"}});

struct ConvNormConfig {
  std::int64_t in = 64, out = 64, kernel = 1;
  ops::Conv2dOptions options{};
  ConvNormKind norm = ConvNormKind::frozen;
  bool trained = true;  ///< false: all parameters keep their values, and statistics are not updated
};

/// norm(conv(x)), [B, C, H, W] -> [B, O, H', W'], with eps 1e-5. A frozen norm is folded into the
/// convolution: weight w s and bias b - mean s, s = weight / sqrt(var + eps). Initially
/// N(sqrt(2 / (O k k))), and the norm is the identity.
class ConvNorm {
 public:
  /// Makes `conv`.weight, and weight, bias, running_mean and running_var at `norm`.
  ConvNorm(const Scope& conv, const Scope& norm, const ConvNormConfig& c);

  /// norm(conv(x)) + sum, in ctx.residual(); an undefined sum is left out.
  [[nodiscard]] Tensor plus(const Tensor& x, const Tensor& sum, const Context& ctx) const;
  /// relu(norm(conv(x))).
  [[nodiscard]] Tensor relu(const Tensor& x, const Context& ctx) const {
    return run(x, ctx, /*relu=*/true);
  }

 private:
  /// A frozen norm as part of the convolution.
  struct Folded {
    Tensor weight, bias;
  };
  [[nodiscard]] Folded folded() const;
  [[nodiscard]] Tensor run(const Tensor& x, const Context& ctx, bool relu) const;
  [[nodiscard]] Tensor plus_as_linear(const Tensor& x, const Tensor& sum, const Context& ctx) const;

  ConvNormConfig config_;
  Tensor weight_;           ///< [O, C, k, k]
  ops::Affine affine_;      ///< [O] each
  Tensor mean_, variance_;  ///< of a frozen norm, [O] each
  std::optional<RunningBuffers> running_;
};

}  // namespace fovea
