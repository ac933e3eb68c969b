// CUDA's state belongs to the process that made it: a child of fork() cannot use it.
#pragma once

namespace fovea::cuda {

/// Whether this process is a child of fork() whose parent had found a device.
[[nodiscard]] bool is_child_of_user();

}  // namespace fovea::cuda
