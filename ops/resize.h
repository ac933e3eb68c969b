// Interpolation of NCHW maps with half-pixel centres and clamped edges, like PyTorch's
// F.interpolate with align_corners=False, and its use on position embeddings.
#pragma once

#include <array>

#include "engine/tensor.h"

namespace fovea::ops {

enum class ResizeMode { bilinear, bicubic };

struct ResizeOptions {
  ResizeMode mode = ResizeMode::bicubic;
  bool antialias = false;  ///< cubic coefficient: -0.5 with antialias, -0.75 without
};
/// x [B, C, H, W] -> [B, C, size[0], size[1]].
[[nodiscard]] Tensor resize(const Tensor& x, std::array<std::int64_t, 2> size,
                            ResizeOptions options = {});

/// Repeats every pixel factor x factor times: x [B, C, H, W] -> [B, C, factor H, factor W].
[[nodiscard]] Tensor upsample_nearest(const Tensor& x, std::int64_t factor);

/// pos [1, prefix + h w, D] for the grid `old_grid` -> the same for `new_grid`; prefix rows are
/// kept unchanged.
[[nodiscard]] Tensor resample_pos_embed(const Tensor& pos, std::int64_t prefix,
                                        std::array<std::int64_t, 2> old_grid,
                                        std::array<std::int64_t, 2> new_grid,
                                        ResizeOptions options = {});

}  // namespace fovea::ops
