// Conversion of a run's place between epochs with different batch sizes.
#include "train/loop/epoch_cut.h"

#include <algorithm>

#include "engine/base/error.h"

namespace fovea {

EpochCut epoch_cut(std::int64_t images, const EpochOptions& epoch, StepSize step) {
  const std::int64_t shown = epoch_size(images, epoch.repeats);
  return {batch_count(shown, step.batch_size, epoch.drop_last), step.batches};
}

void require_place(const Progress& progress, const EpochCut& cut, const std::string& where) {
  const Cursor at = progress.cursor;
  const std::int64_t whole_steps = progress.step - steps_of(at.batch, cut.group);
  const std::int64_t whole_batches = progress.forward - at.batch;
  const bool fits = cut.batches > 0 && at.batch < cut.batches && whole_steps % cut.steps() == 0 &&
                    whole_steps / cut.steps() == at.epoch && whole_batches % cut.batches == 0 &&
                    whole_batches / cut.batches == at.epoch;
  check(fits, where, ": is at epoch ", at.epoch, ", batch ", at.batch, " after ", progress.step,
        " steps of ", progress.forward, " batches, but an epoch of this data set has ", cut.steps(),
        " steps of ", cut.batches, " batches; is this a different data set?");
}

void move_place(Progress& progress, const EpochCut& from, const EpochCut& to) {
  if (from == to) return;
  Cursor& at = progress.cursor;
  std::int64_t steps = steps_of(at.batch, from.group);
  if (steps >= to.steps()) {
    ++at.epoch;
    steps = 0;
  }
  at.batch = steps * to.group;
  progress.step = at.epoch * to.steps() + steps;
  progress.forward = at.epoch * to.batches + at.batch;
  progress.updates = std::min(progress.updates, progress.step);
  for (auto& [name, count] : progress.group_updates) count = std::min(count, progress.step);
}

}  // namespace fovea
