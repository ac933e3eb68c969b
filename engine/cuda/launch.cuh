// Kernel launches, and helpers that all kernels share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>

#include "engine/cuda/device.cuh"
#include "engine/cuda/kernel_times.h"
#include "engine/cuda/launch.h"
#include "engine/divide.h"
#include "engine/kernel.h"

namespace fovea::cuda {

/// The only way to launch a kernel, on a stream of the current device. Throws on a launch error.
template <class... Params, class... Args>
void launch(cudaStream_t stream, void (*kernel)(Params...), dim3 grid, dim3 block,
            std::size_t shared_bytes, Args... args) {
  const auto* const code = reinterpret_cast<const void*>(kernel);
  prepare_launch(code, {{grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, shared_bytes});
  const KernelSpan span(code, stream);
  using Arguments = std::tuple<typename Kept<Params>::Type...>;
  finish_launch(
      start_kernel(running_op(), stream, kernel, grid, block, shared_bytes,
                   Arguments(static_cast<typename Kept<Params>::Type>(std::move(args))...)),
      stream);
}

inline constexpr int kWarp = 32;

/// Index of this thread in a one-dimensional grid, and the total number of threads.
__device__ inline std::int64_t grid_thread() {
  return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ inline std::int64_t grid_threads() {
  return static_cast<std::int64_t>(gridDim.x) * blockDim.x;
}

/// Number of blocks of `block` threads for `work` items in a grid-stride loop: enough to fill any
/// GPU.
inline unsigned blocks_for(std::int64_t work, unsigned block) {
  constexpr std::int64_t kMaxBlocks = 4096;
  const std::int64_t wanted = (work + block - 1) / block;
  return static_cast<unsigned>(wanted < 1 ? 1 : wanted > kMaxBlocks ? kMaxBlocks : wanted);
}

/// Combines one value per thread of a warp in a fixed order; every lane receives the result.
template <class T, class Combine>
__device__ T warp_reduce(T value, Combine combine) {
  for (int lanes = kWarp / 2; lanes > 0; lanes /= 2) {
    value = combine(value, __shfl_xor_sync(0xffffffffu, value, lanes));
  }
  return value;
}

}  // namespace fovea::cuda
