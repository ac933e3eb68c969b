// Pinned memory of the host. A copy from it is asynchronous, and the copy engine reads it later.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace fovea::cuda {

/// Blocks that a device's copies go through, used again when the copy is done.
class PinnedMemory {
 public:
  static PinnedMemory& of(int device);

  PinnedMemory();
  ~PinnedMemory();

  /// Calls copy(block) for `bytes` of pinned memory, which stays as it is until `stream` has done
  /// what copy() asked of it. The device of `stream` must be current.
  template <class Copy>
  void with(std::size_t bytes, cudaStream_t stream, const Copy& copy) {
    const std::lock_guard lock(mutex_);
    copy(take(bytes));
    give_back(stream);
  }

 private:
  struct Block;
  std::byte* take(std::size_t bytes);
  void give_back(cudaStream_t stream);

  std::mutex mutex_;
  std::vector<std::unique_ptr<Block>> blocks_;  ///< the last one used is the first
};

}  // namespace fovea::cuda
