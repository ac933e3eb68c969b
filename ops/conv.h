// 2-D convolution (cross-correlation, as usual in deep learning). NCHW.
#pragma once

#include <array>

#include "engine/tensor.h"

namespace fovea::ops {

struct Conv2dOptions {
  std::array<std::int64_t, 2> stride{1, 1};        ///< pairs in this struct are (height, width)
  std::array<std::int64_t, 2> padding{0, 0};       ///< zeros on each side
  std::array<std::int64_t, 2> more_padding{0, 0};  ///< further zeros below and on the right
  std::array<std::int64_t, 2> dilation{1, 1};
  std::int64_t groups = 1;
};
/// x [B, C, H, W], weight [O, C/groups, kh, kw], bias [O] or undefined -> [B, O, H', W'].
[[nodiscard]] Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias,
                            const Conv2dOptions& options = {});
/// relu(conv2d(...)) in one pass.
[[nodiscard]] Tensor conv2d_relu(const Tensor& x, const Tensor& weight, const Tensor& bias,
                                 const Conv2dOptions& options = {});

struct DepthwiseTokensOptions {
  std::array<std::int64_t, 2> grid{1, 1};  ///< (height, width) of the tokens
  std::int64_t prefix = 0;                 ///< tokens before the grid; they pass through unchanged
  std::int64_t padding = 0;                ///< zeros on all sides of the grid
  /// Adds the input, center-cropped if the padding is below (k - 1) / 2; the kernel size must be
  /// odd.
  bool residual = false;
};
/// A depthwise convolution on tokens in a grid, channels last: x [B, prefix + H W, D], weight [D,
/// 1, kh, kw], bias [D] or undefined -> [B, prefix + H' W', D], H' = H + 2 padding - kh + 1.
/// Equals conv2d with groups = D plus prefix and residual, but needs no transposes.
[[nodiscard]] Tensor depthwise_tokens(const Tensor& x, const Tensor& weight, const Tensor& bias,
                                      const DepthwiseTokensOptions& options);

/// A convolution with stride equal to its kernel, computed as one GEMM: images [B, C, H, W],
/// weight [D, C, p, q], bias [D] -> tokens [B, (H/p)(W/q), D], row-major over the grid.
[[nodiscard]] Tensor patch_embed(const Tensor& images, const Tensor& weight, const Tensor& bias);

}  // namespace fovea::ops
