// The convolutional stem of PerViT: images to tokens through overlapping windows.
#pragma once

#include <vector>

#include "models/context.h"
#include "models/layers/running_buffers.h"
#include "models/layers/tokens.h"
#include "models/scope.h"
#include "ops/arithmetic.h"
#include "ops/conv.h"
#include "ops/norm.h"
#include "ops/view.h"

namespace fovea {

/// relu(batch_norm(conv(x))), 3 x 3 with stride 2: [B, C, h, w] -> [B, D, h/2, w/2]. Names `0`,
/// `1`.
class StemConv {
 public:
  StemConv(const Scope& s, std::int64_t in, std::int64_t out)
      : weight_((s / "0").param("weight", {out, in, 3, 3}, torch_default(9 * in))),
        bias_((s / "0").param("bias", {out}, torch_default(9 * in))),
        scale_((s / "1").param("weight", {out}, constant(1))),
        shift_((s / "1").param("bias", {out}, constant(0))),
        running_(s / "1", out) {}

  [[nodiscard]] Tensor operator()(const Tensor& x, const Context& ctx) const {
    if (!ctx.training) return normalized_by_weights(x);
    return running_.normalize(ops::conv2d(x, weight_, bias_, kHalved), {scale_, shift_},
                              {.training = true, .relu = true});
  }

 private:
  static constexpr ops::Conv2dOptions kHalved{.stride = {2, 2}, .padding = {1, 1}};

  /// With constant statistics, (w x + b - mean) s + shift with s = scale / sqrt(var + eps) is a
  /// convolution by w s with bias (b - mean) s + shift, so no separate pass over the map is needed.
  [[nodiscard]] Tensor normalized_by_weights(const Tensor& x) const {
    const Tensor s = scale_ / ops::sqrt(running_.var() + ops::BatchNormOptions{}.eps);  // [D]
    const Tensor by_channel = ops::reshape(s, {s.size(0), 1, 1, 1});
    return ops::conv2d_relu(x, weight_ * by_channel, (bias_ - running_.mean()) * s + shift_,
                            kHalved);
  }

  Tensor weight_, bias_, scale_, shift_;
  RunningBuffers running_;
};

/// Maps [B, dims[0], H, W] -> [B, N, D]: one StemConv per pair of neighbours in `dims`, so that N =
/// H W / 4^pairs, then a 1 x 1 convolution at the last width D.
class ConvStem {
 public:
  ConvStem(const Scope& s, const std::vector<std::int64_t>& dims) {
    for (std::size_t i = 0; i + 1 < dims.size(); ++i) {
      convs_.emplace_back(s / "conv_layers" / static_cast<std::int64_t>(i), dims[i], dims[i + 1]);
    }
    const std::int64_t D = dims.back();
    weight_ = (s / "conv1x1").param("weight", {D, D, 1, 1}, torch_default(D));
    bias_ = (s / "conv1x1").param("bias", {D}, torch_default(D));
  }

  [[nodiscard]] Tensor operator()(const Tensor& images, const Context& ctx) const {
    Tensor x = images.to(ctx.activations);
    for (const StemConv& conv : convs_) x = conv(x, ctx);  // [B, dims[i + 1], H/2^i, W/2^i]
    return map_to_tokens(ops::conv2d(x, weight_, bias_)).to(ctx.residual());  // [B, N, D]
  }

 private:
  std::vector<StemConv> convs_;
  Tensor weight_, bias_;
};

}  // namespace fovea
