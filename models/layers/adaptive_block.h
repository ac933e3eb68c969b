// Layers of a diffusion transformer (Peebles and Xie 2022, "Scalable Diffusion Models with
// Transformers", adaLN-Zero): the condition of each image scales and shifts its normalised tokens.
#pragma once

#include "models/layers/encoder_config.h"

namespace fovea {

/// Linear layer that maps a condition [B, D] to `count` vectors of D channels per image. Weights
/// and biases start at 0.
class AdaptiveParameters {
 public:
  AdaptiveParameters(const Scope& s, std::int64_t dim, std::int64_t count);

  /// [B, count D]: the vectors beside each other.
  [[nodiscard]] Tensor operator()(const Tensor& condition) const { return linear_(condition); }

 private:
  Linear linear_;
};

/// x + gate1 attention(norm(x) (1 + scale1) + shift1), then x + gate2 mlp(norm(x) (1 + scale2) +
/// shift2). Shifts, scales and gates [B, D] are linear functions of the condition.
class AdaptiveBlock {
 public:
  AdaptiveBlock(const Scope& s, const EncoderConfig& c, std::int64_t index);

  /// x [B, N, D], condition [B, D] -> [B, N, D]. Taps the output as feat/<index>. In training the
  /// backward pass may recompute the block (ctx.recompute_blocks), so the block must outlive it.
  [[nodiscard]] Tensor operator()(const Tensor& x, const Tensor& condition, Context& ctx) const;

 private:
  [[nodiscard]] Tensor run(const Tensor& x, const Tensor& condition, Context& ctx) const;

  std::int64_t index_;
  double eps_;
  Attention attn_;
  Mlp mlp_;
  AdaptiveParameters adaptive_;
};

/// linear(norm(x) (1 + scale) + shift): tokens [B, N, D] to predictions [B, N, out].
class AdaptiveHead {
 public:
  AdaptiveHead(const Scope& s, std::int64_t dim, std::int64_t out, double eps);

  [[nodiscard]] Tensor operator()(const Tensor& x, const Tensor& condition,
                                  const Context& ctx) const;

 private:
  double eps_;
  AdaptiveParameters adaptive_;
  Linear linear_;
};

}  // namespace fovea
