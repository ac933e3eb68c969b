// The place of a batch within a run.
#pragma once

#include <cstdint>

#include "data/loading/sampler.h"

namespace fovea {

/// The place of a batch within a run. A task's random draws must depend only on this place, the
/// run's seed and the sample, so that a resumed run produces the same bits.
struct BatchPlace {
  std::int64_t step = 0;     ///< steps of the run before this batch's step
  std::int64_t forward = 0;  ///< batches of the run before this one
  std::int64_t epoch = 0;    ///< number of finished epochs
};

/// Number of steps for this many batches, `group` per step; the remaining batches form a smaller
/// step.
[[nodiscard]] constexpr std::int64_t steps_of(std::int64_t batches, std::int64_t group) {
  return (batches + group - 1) / group;
}

/// Place of the batch at `at` if an epoch has `batches` batches and a step takes `group` of them.
[[nodiscard]] constexpr BatchPlace place_of(Cursor at, std::int64_t batches, std::int64_t group) {
  return {at.epoch * steps_of(batches, group) + at.batch / group, at.epoch * batches + at.batch,
          at.epoch};
}

}  // namespace fovea
