// The 1 x 1 convolution from a map to tokens.
#pragma once

#include "models/context.h"
#include "models/layers/tokens.h"
#include "models/scope.h"
#include "ops/matmul.h"

namespace fovea {

/// Projects each cell of a map, [B, C, h, w] -> tokens [B, N, D], in ctx.residual(): a norm that
/// takes a large mean away would magnify what bf16 rounds.
class MapProjection {
 public:
  /// Makes weight [D, C, 1, 1] and bias [D].
  MapProjection(const Scope& s, std::int64_t in, std::int64_t out, const Init& weight,
                const Init& bias)
      : weight_(s.param("weight", {out, in, 1, 1}, weight)), bias_(s.param("bias", {out}, bias)) {}

  [[nodiscard]] Tensor operator()(const Tensor& map, const Context& ctx) const {
    const Tensor weight = ops::reshape(weight_, {weight_.size(0), weight_.size(1)});
    return ops::linear(map_to_tokens(map.to(ctx.residual())), weight, bias_);
  }

 private:
  Tensor weight_, bias_;
};

}  // namespace fovea
