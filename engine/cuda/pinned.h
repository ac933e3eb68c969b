// Pinned host memory. A copy from it is asynchronous: the copy engine reads it later.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace fovea::cuda {

/// Staging blocks for one device's copies. A block is reused once its copy is done.
class PinnedMemory {
 public:
  static PinnedMemory& of(int device);

  PinnedMemory();
  ~PinnedMemory();

  /// Calls copy(block) with `bytes` of pinned memory. The block stays untouched until `stream` has
  /// finished the work that copy() enqueued. The device of `stream` must be current.
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
  std::vector<std::unique_ptr<Block>> blocks_;  ///< most recently used first
};

}  // namespace fovea::cuda
