// Generated images as 8-bit pictures.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/image.h"
#include "engine/tensor.h"

namespace fovea {

/// Images [B, 3, H, W] with values in [-1, 1] on any device, by the rule of DiT's official script:
/// clamp(127.5 x + 128, 0, 255), with the fraction cut off. Throws if a value is not finite.
[[nodiscard]] std::vector<Image> generated_pictures(const Tensor& images);

/// 8-bit pictures of one size in rows of `columns`, on black, with a gap between them.
[[nodiscard]] Image picture_grid(std::span<const Image> pictures, std::int64_t columns,
                                 std::int64_t gap = 2);

}  // namespace fovea
