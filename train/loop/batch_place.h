// Where in a run a batch comes.
#pragma once

#include <cstdint>

#include "data/loading/sampler.h"

namespace fovea {

/// Where in the run a batch comes. All that a task draws at random must follow from this, the run's
/// seed and the sample, so that a run which was stopped goes on with the same bits.
struct BatchPlace {
  std::int64_t step = 0;     ///< steps of the run before that of this batch
  std::int64_t forward = 0;  ///< batches of the run before it
  std::int64_t epoch = 0;    ///< finished ones
};

/// Steps that so many batches make, `group` at a time: what is left at the end makes a smaller one.
[[nodiscard]] constexpr std::int64_t steps_of(std::int64_t batches, std::int64_t group) {
  return (batches + group - 1) / group;
}

/// The place of the batch at `at` where an epoch has `batches`, of which a step takes `group`.
[[nodiscard]] constexpr BatchPlace place_of(Cursor at, std::int64_t batches, std::int64_t group) {
  return {at.epoch * steps_of(batches, group) + at.batch / group, at.epoch * batches + at.batch,
          at.epoch};
}

}  // namespace fovea
