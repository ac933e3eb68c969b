// Layout of an epoch in batches and steps, and conversion of a run's place between layouts.
#pragma once

#include <cstdint>
#include <string>

#include "data/loading/loader_options.h"
#include "train/loop/batch_place.h"
#include "train/run/run_progress.h"

namespace fovea {

/// Batch size and accumulation of an optimizer step.
struct StepSize {
  std::int64_t batch_size = 0;  ///< images per batch
  std::int64_t batches = 0;     ///< batches per step: --grad-accum-steps

  [[nodiscard]] std::int64_t images() const { return batch_size * batches; }
  friend bool operator==(const StepSize&, const StepSize&) = default;
};

struct EpochLayout {
  std::int64_t batches = 0;  ///< batches per epoch
  std::int64_t group = 1;    ///< batches per step

  [[nodiscard]] std::int64_t steps() const { return steps_of(batches, group); }
  friend bool operator==(const EpochLayout&, const EpochLayout&) = default;
};

/// Division of an epoch over a data set of `images` images.
[[nodiscard]] EpochLayout epoch_layout(std::int64_t images, const EpochOptions& epoch,
                                       StepSize step);

/// Throws Error, starting with `context`, if `progress` is impossible for such epochs.
void require_place(const Progress& progress, const EpochLayout& layout, const std::string& context);

/// Moves a run from epochs divided as `from` to the same place in epochs divided as `to`: the same
/// number of steps into the epoch, or the epoch's end if it has fewer. The counters of the whole
/// run are adjusted.
void move_place(Progress& progress, const EpochLayout& from, const EpochLayout& to);

}  // namespace fovea
