// The 1 x 1 convolution from a map to tokens.
#pragma once

#include "models/context.h"
#include "models/layers/tokens.h"
#include "models/scope.h"
#include "ops/matmul.h"

namespace fovea {

/// Projects each cell of a map, [B, C, h, w] -> tokens [B, N, D] of ctx.residual(): bf16 would
/// round the sums, which a norm that takes a large mean away magnifies.
class MapProjection {
 public:
  /// Makes weight [D, C, 1, 1] and bias [D].
  MapProjection(const Scope& s, std::int64_t in, std::int64_t out, const Init& weight,
                const Init& bias)
      : weight_(s.param("weight", {out, in, 1, 1}, weight)), bias_(s.param("bias", {out}, bias)) {}

  [[nodiscard]] Tensor operator()(const Tensor& map, const Context& ctx) const {
    const Tensor cells = map_to_tokens(map.to(ctx.activations));  // [B, N, C]
    const Tensor weight = ops::reshape(weight_, {weight_.size(0), weight_.size(1)});
    if (ctx.activations == ctx.residual()) return ops::linear(cells, weight, bias_);
    const Shape tokens{cells.size(0), cells.size(1), weight.size(0)};
    return ops::linear(cells, weight, bias_, zeros(tokens, {ctx.residual(), map.device()}));
  }

 private:
  Tensor weight_, bias_;
};

}  // namespace fovea
