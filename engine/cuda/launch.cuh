// How kernels are started, on a GPU and in the emulator of tests/cuda/emulator.h, which supplies
// threads, blocks, shared memory, barriers and shuffles to the same kernel source.
#pragma once

#include <cstddef>
#include <cstdint>

#ifdef FOVEA_EMULATE
#include "emulator.h"  // tests/cuda
#else
#include <cuda_runtime.h>

#include "engine/cuda/status.h"

namespace fovea::cuda {

/// Whether FOVEA_SYNC=1 asks for a synchronisation after each launch, so that an error names its
/// op.
[[nodiscard]] bool sync_after_launch();

/// The one way to start a kernel. Throws on a launch error.
template <class... Params, class... Args>
void launch(void (*kernel)(Params...), dim3 grid, dim3 block, std::size_t shared_bytes,
            Args... args) {
  // clang-format off
  kernel<<<grid, block, shared_bytes>>>(static_cast<Params>(args)...);
  // clang-format on
  cuda_check(cudaGetLastError(), "kernel launch");
  if (sync_after_launch()) cuda_check(cudaDeviceSynchronize(), "kernel");
}

/// The dynamic shared memory of the block.
template <class T>
__device__ T* dynamic_shared() {
  extern __shared__ __align__(16) unsigned char bytes[];
  return reinterpret_cast<T*>(bytes);
}

}  // namespace fovea::cuda
#endif

namespace fovea::cuda {

inline constexpr int kWarp = 32;

/// Index of this thread in a one-dimensional grid, and how many threads the grid has.
__device__ inline std::int64_t grid_thread() {
  return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ inline std::int64_t grid_threads() {
  return static_cast<std::int64_t>(gridDim.x) * blockDim.x;
}

/// Blocks of `block` threads for `work` items in a grid-stride loop: enough to fill any GPU.
inline unsigned blocks_for(std::int64_t work, unsigned block) {
  constexpr std::int64_t kMost = 4096;
  const std::int64_t wanted = (work + block - 1) / block;
  return static_cast<unsigned>(wanted < 1 ? 1 : wanted > kMost ? kMost : wanted);
}

/// Combines one value per thread of a warp in a fixed order; every lane gets the result.
template <class T, class Combine>
__device__ T warp_reduce(T value, Combine combine) {
  for (int lanes = kWarp / 2; lanes > 0; lanes /= 2) {
    value = combine(value, __shfl_xor_sync(0xffffffffu, value, lanes));
  }
  return value;
}

}  // namespace fovea::cuda
