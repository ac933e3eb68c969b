// What the twin of AMX counts: how many operations of tiles the unit itself would have executed.
#pragma once

#include <cstdint>

namespace fovea::ops::cpu {

struct TileCounts {
  std::int64_t loads = 0, products = 0, stores = 0;
};

/// The counts of this thread.
[[nodiscard]] TileCounts& tile_counts();

}  // namespace fovea::ops::cpu
