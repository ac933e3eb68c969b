// The CPU's memory, and storage blocks on either device.
#include "engine/storage.h"

#include <sys/mman.h>

#include <cstdlib>

#include "engine/caching_allocator.h"
#include "engine/cuda/runtime.h"

namespace fovea {
namespace {

struct CpuMemory {
  static void* allocate(std::size_t size) {
    constexpr std::size_t kHugePage = std::size_t{1} << 21;
    const bool large = size >= 2 * kHugePage;
    const std::size_t alignment = large ? kHugePage : 64;
    void* const data =
        std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
    if (data != nullptr && large) madvise(data, size, MADV_HUGEPAGE);
    return data;
  }
  static void free(void* data) { std::free(data); }
  static const char* name() { return "the CPU"; }
};

/// Never destroyed: tensors with static lifetime may outlive everything else.
CachingAllocator<CpuMemory>& cpu_memory() {
  static auto* const allocator = std::make_unique<CachingAllocator<CpuMemory>>().release();
  return *allocator;
}

}  // namespace

Storage::Block::Block(std::size_t size, Device where) : bytes(size), device(where) {
  if (bytes == 0) return;
  data = static_cast<std::byte*>(device.is_cpu() ? cpu_memory().allocate(bytes)
                                                 : cuda::allocate(bytes, device.index));
}

Storage::Block::~Block() {
  if (data == nullptr) return;
  if (device.is_cpu()) {
    cpu_memory().deallocate(data, bytes);
  } else {
    cuda::deallocate(data, bytes, device.index);
  }
}

Storage::Storage(std::size_t bytes, Device device)
    : block_((require_device(device), std::make_shared<Block>(bytes, device))) {}

MemoryStats memory_stats(Device device) {
  return device.is_cpu() ? cpu_memory().stats() : cuda::memory_stats(device.index);
}

void reset_peak_memory(Device device) {
  return device.is_cpu() ? cpu_memory().reset_peak() : cuda::reset_peak_memory(device.index);
}

void release_cached_memory(Device device) {
  return device.is_cpu() ? cpu_memory().release_cached()
                         : cuda::release_cached_memory(device.index);
}

}  // namespace fovea
