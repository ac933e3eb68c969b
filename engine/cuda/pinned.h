// Pinned host memory. A copy from it is asynchronous: the copy engine reads it later.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace fovea::cuda {

/// Staging blocks for one device's copies. A block is reused once its copies are done.
class PinnedMemory {
  struct Block;

 public:
  static PinnedMemory& of(int device);

  PinnedMemory();
  ~PinnedMemory();

  /// A block for one user, of at least that many bytes. The device must be current.
  class Loan {
   public:
    Loan(PinnedMemory& owner, std::size_t bytes);
    ~Loan();
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;

    [[nodiscard]] std::byte* data() const;
    /// Keeps the block from others, after the loan too, until `stream` has done the work enqueued
    /// so far.
    void keep_for(cudaStream_t stream) const;

   private:
    PinnedMemory& owner_;
    Block& block_;
  };

  /// Calls copy(block) with `bytes` of pinned memory. The block stays untouched until `stream` has
  /// finished the work that copy() enqueued. The device of `stream` must be current.
  template <class Copy>
  void with(std::size_t bytes, cudaStream_t stream, const Copy& copy) {
    const Loan loan(*this, bytes);
    copy(loan.data());
    loan.keep_for(stream);
  }

 private:
  Block& take(std::size_t bytes);

  std::mutex mutex_;
  std::vector<std::unique_ptr<Block>> blocks_;  ///< most recently used first
};

}  // namespace fovea::cuda
