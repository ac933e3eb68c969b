// The place of a batch within a run.
#pragma once

#include <cstdint>

#include "data/loading/sampler.h"

namespace fovea {

/// The place of a batch within a run. A task's random draws must depend only on this place, the
/// run's seed and the sample, so that a resumed run produces the same bits.
struct BatchPlace {
  std::int64_t step = 0;     ///< steps of the run before this batch's step
  std::int64_t forward = 0;  ///< forward passes of the run before this one: batches times shards
  std::int64_t epoch = 0;    ///< number of finished epochs
};

/// Number of steps for this many batches, `group` per step; the remaining batches form a smaller
/// step.
[[nodiscard]] constexpr std::int64_t steps_of(std::int64_t batches, std::int64_t group) {
  return (batches + group - 1) / group;
}

/// Number of a shard's forward pass, if `batches` batches of `shards` shards came before.
[[nodiscard]] constexpr std::int64_t forward_of(std::int64_t batches, std::int64_t shard,
                                                std::int64_t shards) {
  return batches * shards + shard;
}

/// Place of the batch of `part` if an epoch has `batches` batches of `shards` shards and a step
/// takes `group` batches.
[[nodiscard]] constexpr BatchPlace place_of(BatchPart part, std::int64_t batches,
                                            std::int64_t group, std::int64_t shards = 1) {
  const auto [epoch, batch] = part.cursor;
  return {epoch * steps_of(batches, group) + batch / group,
          forward_of(epoch * batches + batch, part.shard, shards), epoch};
}

}  // namespace fovea
