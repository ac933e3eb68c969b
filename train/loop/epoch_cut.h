// How an epoch is cut into batches and steps, and the place of a run in epochs that are cut
// otherwise.
#pragma once

#include <cstdint>
#include <string>

#include "data/loading/loader_options.h"
#include "train/loop/batch_place.h"
#include "train/run/run_progress.h"

namespace fovea {

/// How a step takes its images.
struct StepSize {
  std::int64_t batch_size = 0;  ///< images of a batch
  std::int64_t batches = 0;     ///< of a step: --grad-accum-steps

  [[nodiscard]] std::int64_t images() const { return batch_size * batches; }
  friend bool operator==(const StepSize&, const StepSize&) = default;
};

struct EpochCut {
  std::int64_t batches = 0;  ///< of an epoch
  std::int64_t group = 1;    ///< of a step

  [[nodiscard]] std::int64_t steps() const { return steps_of(batches, group); }
  friend bool operator==(const EpochCut&, const EpochCut&) = default;
};

/// Of a data set of so many images.
[[nodiscard]] EpochCut epoch_cut(std::int64_t images, const EpochOptions& epoch, StepSize step);

/// Throws Error, beginning with `where`, unless a run over such epochs could stand there.
void require_place(const Progress& progress, const EpochCut& cut, const std::string& where);

/// Moves a run that stands in epochs cut as `from` to the same place of epochs cut as `to`: to as
/// many steps of its epoch, or to the epoch's end where it has no more. Counts of all steps follow.
void move_place(Progress& progress, const EpochCut& from, const EpochCut& to);

}  // namespace fovea
