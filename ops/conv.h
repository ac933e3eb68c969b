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

/// The convolution whose stride is its kernel, as one product: images [B, C, H, W], weight
/// [D, C, p, q], bias [D] -> tokens [B, (H/p)(W/q), D], row-major over the grid.
[[nodiscard]] Tensor patch_embed(const Tensor& images, const Tensor& weight, const Tensor& bias);

}  // namespace fovea::ops
