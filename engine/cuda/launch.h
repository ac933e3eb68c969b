// The host's side of starting a kernel.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/cuda/status.h"
#include "engine/dtype.h"
#include "engine/storage.h"

namespace fovea::cuda {

/// Whether FOVEA_SYNC=1 asks to wait for each kernel, so that an error names its op.
[[nodiscard]] bool synchronizes_after_launch();

struct LaunchShape {
  unsigned grid[3], block[3];
  std::size_t shared_bytes;
};

/// Checks the shape against what every supported GPU can do, and asks for shared memory above 48 KB
/// where it is wanted. The device of `stream` must be current.
void prepare_launch(const void* kernel, const LaunchShape& shape);
/// Throws what the launch, or with FOVEA_SYNC=1 the kernel, returned.
void finish_launch(cudaError_t launched, cudaStream_t stream);

[[nodiscard]] int current_device();
/// This thread's stream on the current device.
[[nodiscard]] cudaStream_t current_stream();
/// Memory of that stream for `count` elements. It may go out of scope as soon as the kernels that
/// use it have been started.
[[nodiscard]] Storage temporary(std::int64_t count, DType dtype);

}  // namespace fovea::cuda
