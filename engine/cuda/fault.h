// What kernels find wrong with numbers that the host has not seen, such as an index out of range. A
// kernel cannot throw and the host does not wait: the first finding stays on the device until the
// host next waits for it, and becomes an error there.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace fovea::cuda {

struct Fault {
  const char* op = nullptr;  ///< static text of the host; null: none was found
  std::int64_t op_length = 0;
  std::int64_t position = 0, value = 0, low = 0, limit = 0;  ///< outside of [low, limit)
};

/// The current device's, for a kernel that is about to look for one on the current stream.
[[nodiscard]] Fault* fault_to_fill();

/// Throws what was found on a device since the last call. Copies on `stream`, which must come after
/// the kernels in question, and waits for it.
void throw_fault(int device, cudaStream_t stream);

}  // namespace fovea::cuda
