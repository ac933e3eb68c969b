// The host side of a kernel launch.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/cuda/status.h"
#include "engine/dtype.h"
#include "engine/storage.h"

namespace fovea::cuda {

/// Whether FOVEA_SYNC=1 is set: wait for every kernel, so that an error names its op.
[[nodiscard]] bool synchronizes_after_launch();

struct LaunchShape {
  unsigned grid[3], block[3];
  std::size_t shared_bytes;
};

/// Checks the launch shape against the limits of all supported GPUs and opts in to more than 48 KB
/// of shared memory if required. The device of `stream` must be current.
void prepare_launch(const void* kernel, const LaunchShape& shape);
/// Throws the error that the launch returned, or with FOVEA_SYNC=1 the kernel's.
void finish_launch(cudaError_t launched, cudaStream_t stream);

[[nodiscard]] int current_device();
/// This thread's stream on the current device.
[[nodiscard]] cudaStream_t current_stream();
/// Memory on that stream for `count` elements. It may go out of scope as soon as the kernels that
/// use it have been launched.
[[nodiscard]] Storage temporary(std::int64_t count, DType dtype);

}  // namespace fovea::cuda
