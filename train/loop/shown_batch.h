// What a sheet of training images shows of a batch.
#pragma once

#include "data/dataset.h"
#include "train/loop/task.h"
#include "train/run/batch_sheet.h"

namespace fovea {

/// A prepared batch of `images`, on the CPU: with the classes that the task reads, both for a mixed
/// image, and with its boxes, named by their classes.
[[nodiscard]] ShownBatch shown_batch(const Task& task, const Batch& batch, const Dataset& images);

}  // namespace fovea
