// Faults: errors in data that only kernels see, such as an index out of range. A kernel cannot
// throw and the host does not wait for it, so the first fault stays on the device and becomes an
// error when the host next waits.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace fovea::cuda {

struct Fault {
  const char* op = nullptr;  ///< static host text; null: no fault was found
  std::int64_t op_length = 0;
  std::int64_t position = 0, value = 0, low = 0, limit = 0;  ///< `value` lies outside [low, limit)
};

/// The fault record of the current device, for a kernel that will check values on the current
/// stream.
[[nodiscard]] Fault* fault_to_fill();

/// Says that kernels with the device's record have been enqueued again, by a launch of a graph.
void look_for_fault(int device);

/// Throws the fault found on a device since the last call, if any. Copies the record on `stream`,
/// which must be ordered after the kernels in question, and waits for it.
void throw_fault(int device, cudaStream_t stream);

}  // namespace fovea::cuda
