// The sizes of DETR's preprocessing (Carion et al. 2020): images keep their ratio, so the images of
// a batch differ and are padded.
#pragma once

#include <vector>

#include "data/geometry/geometry.h"
#include "engine/rng.h"

namespace fovea {

/// DETR's numbers are for images of 800 pixels. With another `side` all scale with it.
inline constexpr std::int64_t kDetrSide = 800;

/// The size with the shorter side at `side`, or less so that the longer one stays at most `longest`
/// (0: no limit).
[[nodiscard]] ImageSize short_side_size(ImageSize image, std::int64_t side, std::int64_t longest);

/// The 1333 for images of `side`: what limits the longer side.
[[nodiscard]] std::int64_t longest_detr_side(std::int64_t side);

/// In evaluation the shorter side becomes 800, and the longer at most 1333. Throws ImageError
/// for images so long that one pixel of the shorter side leaves more than eight times that.
[[nodiscard]] std::vector<Geometry> detr_moves(ImageSize image, std::int64_t side, Filter filter);

/// In training, half of the time, the shorter side becomes one of 480, 512, ..., 800, and the
/// longer at most 1333. Otherwise the same after a crop: the shorter side becomes 400, 500 or 600,
/// and a part with sides U{384, ..., 600}, at most the image's, is cut out. Throws as detr_moves().
[[nodiscard]] std::vector<Geometry> draw_detr_moves(ImageSize image, std::int64_t side,
                                                    Filter filter, Rng& rng);

}  // namespace fovea
