// What a kernel may ask of the current device.
#pragma once

#include <cstddef>

namespace fovea::cuda {

/// Bytes of shared memory that a block may have.
[[nodiscard]] std::size_t shared_memory_limit();

}  // namespace fovea::cuda
