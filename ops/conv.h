// 2-D convolution (cross-correlation, as everywhere in deep learning). NCHW.
#pragma once

#include <array>

#include "engine/tensor.h"

namespace fovea::ops {

struct Conv2dOptions {
  std::array<std::int64_t, 2> stride{1, 1};  ///< (height, width) in each of these
  std::array<std::int64_t, 2> padding{0, 0};
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
  std::int64_t prefix = 0;                 ///< tokens before the grid, which pass unchanged
  std::int64_t padding = 0;                ///< zeros all round the grid
  /// Adds the input, cropped about its centre where the padding is short: the kernel must be odd.
  bool residual = false;
};
/// One filter per channel on tokens that lie in a grid, channels last: x [B, prefix + H W, D],
/// weight [D, 1, kh, kw], bias [D] or undefined -> [B, prefix + H' W', D], H' = H + 2 padding -
/// kh + 1. conv2d with groups = D, without the two transposes, the prefix and residual included.
[[nodiscard]] Tensor depthwise_tokens(const Tensor& x, const Tensor& weight, const Tensor& bias,
                                      const DepthwiseTokensOptions& options);

/// The convolution whose stride is its kernel, as one product: images [B, C, H, W], weight
/// [D, C, p, q], bias [D] -> tokens [B, (H/p)(W/q), D], row-major over the grid.
[[nodiscard]] Tensor patch_embed(const Tensor& images, const Tensor& weight, const Tensor& bias);

}  // namespace fovea::ops
