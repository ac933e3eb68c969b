// Conversion of tokens to an image and back, for convolutions between transformer layers.
#pragma once

#include "ops/view.h"

namespace fovea {

/// [B, N, D] -> [B, D, height, width], N = height width in row-major order.
[[nodiscard]] inline Tensor tokens_to_map(const Tensor& x, std::int64_t height,
                                          std::int64_t width) {
  const Tensor channels = ops::permute(x, {0, 2, 1});  // [B, D, N]
  return ops::reshape(channels, {x.size(0), x.size(2), height, width});
}

/// [B, D, height, width] -> [B, N, D].
[[nodiscard]] inline Tensor map_to_tokens(const Tensor& x) {
  const Tensor flat = ops::reshape(x, {x.size(0), x.size(1), -1});  // [B, D, N]
  return ops::permute(flat, {0, 2, 1});
}

}  // namespace fovea
