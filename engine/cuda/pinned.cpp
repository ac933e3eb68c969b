// Selection and reuse of pinned staging blocks.
#include "engine/cuda/pinned.h"

#include <algorithm>
#include <map>

#include "engine/cuda/event.h"

namespace fovea::cuda {

struct PinnedMemory::Block {
  std::byte* data = nullptr;
  std::size_t bytes = 0;
  bool is_lent = false;
  Event free_after;

  explicit Block(std::size_t size) : bytes(size) {
    void* memory = nullptr;
    cuda_check(cudaHostAlloc(&memory, bytes, cudaHostAllocPortable), "cudaHostAlloc");
    data = static_cast<std::byte*>(memory);
  }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  ~Block() { cudaFreeHost(data); }
};

PinnedMemory& PinnedMemory::of(int device) {
  static auto& all = *new std::map<int, PinnedMemory>;  // never destroyed: CUDA may be gone first
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  return all.try_emplace(device).first->second;
}

/// Allocates a new block when none of its size is free; sizes are powers of two to keep them few.
PinnedMemory::Block& PinnedMemory::take(std::size_t bytes) {
  std::size_t size = 4096;
  while (size < bytes) size *= 2;
  const std::lock_guard lock(mutex_);
  const auto is_free = [&](const std::unique_ptr<Block>& block) {
    return block->bytes == size && !block->is_lent && block->free_after.is_passed();
  };
  auto found = std::find_if(blocks_.begin(), blocks_.end(), is_free);
  if (found == blocks_.end()) {
    blocks_.push_back(std::make_unique<Block>(size));
    found = blocks_.end() - 1;
  }
  std::rotate(blocks_.begin(), found, found + 1);
  blocks_.front()->is_lent = true;
  return *blocks_.front();
}

PinnedMemory::Loan::Loan(PinnedMemory& owner, std::size_t bytes)
    : owner_(owner), block_(owner.take(bytes)) {}
PinnedMemory::Loan::~Loan() {
  const std::lock_guard lock(owner_.mutex_);
  block_.is_lent = false;
}
std::byte* PinnedMemory::Loan::data() const { return block_.data; }
void PinnedMemory::Loan::keep_for(cudaStream_t stream) const { block_.free_after.record(stream); }

PinnedMemory::PinnedMemory() = default;
PinnedMemory::~PinnedMemory() = default;

}  // namespace fovea::cuda
