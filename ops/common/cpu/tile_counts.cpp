// The counts of the twin of AMX, one set for each thread.
#include "ops/common/cpu/tile_counts.h"

namespace fovea::ops::cpu {

TileCounts& tile_counts() {
  thread_local TileCounts counts;
  return counts;
}

}  // namespace fovea::ops::cpu
