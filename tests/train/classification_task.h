// The task whose columns the tests of logs expect.
#pragma once

#include "train/tasks/classification.h"

namespace fovea::tests {

inline const TaskInfo kTask = classification_info({});

}  // namespace fovea::tests
