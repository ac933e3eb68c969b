// Layers of convolutional autoencoders on maps [B, C, H, W]: convolution, group norm, the residual
// block, attention over all positions, and changes of resolution by 2. Parameter names are those of
// diffusers' AutoencoderKL.
#pragma once

#include <optional>

#include "models/context.h"
#include "models/layers/linear.h"
#include "models/layers/norm.h"
#include "models/scope.h"
#include "ops/conv.h"

namespace fovea {

/// A square convolution with bias that starts from PyTorch's default values.
class Conv {
 public:
  Conv(const Scope& s, std::int64_t in, std::int64_t out, std::int64_t kernel,
       const ops::Conv2dOptions& options = {});
  [[nodiscard]] Tensor operator()(const Tensor& x, const Context& ctx) const;

 private:
  Tensor weight_, bias_;
  ops::Conv2dOptions options_;
};

/// A 3 x 3 convolution that keeps the size.
class SameConv : public Conv {
 public:
  SameConv(const Scope& s, std::int64_t in, std::int64_t out)
      : Conv(s, in, out, 3, {.padding = {1, 1}}) {}
};

class GroupNorm {
 public:
  GroupNorm(const Scope& s, std::int64_t dim, std::int64_t groups);
  [[nodiscard]] Tensor operator()(const Tensor& x) const;
  /// silu of the normalised x.
  [[nodiscard]] Tensor silu(const Tensor& x) const;

 private:
  static constexpr double kEps = 1e-6;
  ops::Affine affine_;
  std::int64_t groups_;
};

/// x + conv2(silu(norm2(conv1(silu(norm1(x)))))), where a 1 x 1 convolution brings x to another
/// width.
class ConvResidualBlock {
 public:
  ConvResidualBlock(const Scope& s, std::int64_t in, std::int64_t out, std::int64_t groups);
  [[nodiscard]] Tensor operator()(const Tensor& x, const Context& ctx) const;

 private:
  GroupNorm norm1_;
  SameConv conv1_;
  GroupNorm norm2_;
  SameConv conv2_;
  std::optional<Conv> shortcut_;
};

/// x + attention over all positions of the normalised x, with a single head.
class MapAttention {
 public:
  MapAttention(const Scope& s, std::int64_t dim, std::int64_t groups);
  [[nodiscard]] Tensor operator()(const Tensor& x, const Context& ctx) const;

 private:
  GroupNorm norm_;
  Linear query_, key_, value_, out_;
};

/// Halves height and width: a 3 x 3 convolution of stride 2, with zeros only below and on the
/// right.
class Downsample : public Conv {
 public:
  Downsample(const Scope& s, std::int64_t dim)
      : Conv(s / "conv", dim, dim, 3, {.stride = {2, 2}, .more_padding = {1, 1}}) {}
};

/// Doubles height and width: repeats each pixel, then convolves.
class Upsample {
 public:
  Upsample(const Scope& s, std::int64_t dim) : conv_(s / "conv", dim, dim) {}
  [[nodiscard]] Tensor operator()(const Tensor& x, const Context& ctx) const;

 private:
  SameConv conv_;
};

}  // namespace fovea
