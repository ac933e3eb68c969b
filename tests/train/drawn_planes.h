// The drawn depth on which tests train.
#pragma once

#include <memory>

#include "tests/support/drawn_depth.h"

namespace fovea::tests {

inline constexpr ImageSize kPlaneSize{24, 36};

inline std::shared_ptr<const Dataset> drawn_planes(std::int64_t size, std::uint64_t seed) {
  return std::make_shared<DrawnDepth>(
      DrawnDepthOptions{.size = size, .seed = seed, .image = kPlaneSize});
}

}  // namespace fovea::tests
