// Conversion of a run's place between epochs with different batch sizes.
#include "train/loop/epoch_layout.h"

#include <algorithm>

#include "engine/base/error.h"

namespace fovea {

EpochLayout epoch_layout(std::int64_t images, const EpochOptions& epoch, StepSize step) {
  const std::int64_t shown = epoch_size(images, epoch.repeats);
  return {batch_count(shown, step.batch_size, epoch.drop_last), step.batches};
}

void require_place(const Progress& progress, const EpochLayout& layout,
                   const std::string& context) {
  const Cursor at = progress.cursor;
  const std::int64_t whole_steps = progress.step - steps_of(at.batch, layout.group);
  const std::int64_t whole_batches = progress.forward - at.batch;
  const bool fits = layout.batches > 0 && at.batch < layout.batches &&
                    whole_steps % layout.steps() == 0 && whole_steps / layout.steps() == at.epoch &&
                    whole_batches % layout.batches == 0 &&
                    whole_batches / layout.batches == at.epoch;
  check(fits, context, ": is at epoch ", at.epoch, ", batch ", at.batch, " after ", progress.step,
        " steps of ", progress.forward, " batches, but an epoch of this data set has ",
        layout.steps(), " steps of ", layout.batches, " batches; is this a different data set?");
}

void move_place(Progress& progress, const EpochLayout& from, const EpochLayout& to) {
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
}

}  // namespace fovea
