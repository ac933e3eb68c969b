// The task whose columns the tests of logs expect, and rows of it.
#pragma once

#include <cstdint>

#include "train/loop/run_observer.h"
#include "train/tasks/classification.h"

namespace fovea::tests {

inline const TaskInfo kTask = classification_info({});

inline EpochRow row_of(std::int64_t epoch, double top1, double loss = 1) {
  EpochRow row;
  row.epoch = epoch;
  row.eval = {loss, top1, 99};
  return row;
}

}  // namespace fovea::tests
