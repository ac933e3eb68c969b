// Checks launch limits before the driver does: the driver does not report which limit was
// exceeded.
#include "engine/cuda/launch.h"

#include <map>
#include <mutex>
#include <utility>

#include "engine/base/error.h"
#include "engine/cuda/limits.h"
#include "engine/cuda/runtime.h"
#include "engine/kernel.h"

namespace fovea::cuda {
namespace {

constexpr unsigned kThreads = 1024;
constexpr unsigned kBlocks[3] = {0x7fffffffu, 65535u, 65535u};
constexpr std::size_t kSharedWithoutAsking = std::size_t{48} << 10;

/// Requests a kernel's largest shared memory size, once per device.
void ask_for_shared_memory(const void* kernel, std::size_t bytes) {
  static std::mutex mutex;
  static std::map<std::pair<const void*, int>, std::size_t> asked;
  const std::lock_guard lock(mutex);
  std::size_t& had = asked[{kernel, current_device()}];
  if (bytes <= had) return;
  check(bytes <= shared_memory_limit(), running_op(), ": its kernel needs ", bytes,
        " bytes of shared memory per block, this device has ", shared_memory_limit());
  cuda_check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  static_cast<int>(bytes)),
             "cudaFuncSetAttribute");
  had = bytes;
}

}  // namespace

std::size_t shared_memory_limit() {
  int most = 0;
  cuda_check(
      cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, current_device()),
      "cudaDeviceGetAttribute");
  return static_cast<std::size_t>(most);
}

void prepare_launch(const void* kernel, const LaunchShape& shape) {
  const unsigned threads = shape.block[0] * shape.block[1] * shape.block[2];
  check(threads >= 1 && threads <= kThreads, running_op(), ": launch with ", threads,
        " threads per block, expected 1 to ", kThreads);
  for (int axis = 0; axis < 3; ++axis) {
    check(shape.grid[axis] >= 1 && shape.grid[axis] <= kBlocks[axis], running_op(),
          ": launch with ", shape.grid[axis], " blocks along axis ", axis, ", expected 1 to ",
          kBlocks[axis]);
  }
  if (shape.shared_bytes > kSharedWithoutAsking) ask_for_shared_memory(kernel, shape.shared_bytes);
}

void finish_launch(cudaError_t launched, cudaStream_t stream) {
  cuda_check(launched, "launch");
  if (synchronizes_after_launch()) cuda_check(cudaStreamSynchronize(stream), "kernel");
}

int current_device() {
  int device = 0;
  cuda_check(cudaGetDevice(&device), "cudaGetDevice");
  return device;
}

Storage temporary(std::int64_t count, DType dtype) {
  return {static_cast<std::size_t>(count) * size_of(dtype), {DeviceType::cuda, current_device()}};
}

cudaStream_t current_stream() {
  return static_cast<cudaStream_t>(Stream::current(current_device()).handle());
}

}  // namespace fovea::cuda
