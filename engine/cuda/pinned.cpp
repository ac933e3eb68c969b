// Selection and reuse of pinned staging blocks.
#include "engine/cuda/pinned.h"

#include <algorithm>
#include <map>

#include "engine/cuda/event.h"

namespace fovea::cuda {

struct PinnedMemory::Block {
  std::byte* data = nullptr;
  std::size_t bytes = 0;
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

/// Allocates a new block when no free one is large enough; sizes are powers of two to keep them
/// few.
std::byte* PinnedMemory::take(std::size_t bytes) {
  const auto fits = [&](const std::unique_ptr<Block>& block) {
    return block->bytes >= bytes && block->free_after.is_passed();
  };
  auto found = std::find_if(blocks_.begin(), blocks_.end(), fits);
  if (found == blocks_.end()) {
    std::size_t size = 4096;
    while (size < bytes) size *= 2;
    blocks_.push_back(std::make_unique<Block>(size));
    found = blocks_.end() - 1;
  }
  std::rotate(blocks_.begin(), found, found + 1);  // give_back() refers to the first block
  return blocks_.front()->data;
}

void PinnedMemory::give_back(cudaStream_t stream) { blocks_.front()->free_after.record(stream); }

PinnedMemory::PinnedMemory() = default;
PinnedMemory::~PinnedMemory() = default;

}  // namespace fovea::cuda
