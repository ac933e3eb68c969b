// The CPU's caching allocator, and storage blocks on either device.
//
// Freed blocks are kept by size class and handed out again: a training step asks for the same sizes
// over and over, and fresh pages from the system cost more than the kernels that fill them.
#include "engine/storage.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>
#include <vector>

#include "engine/check.h"
#include "engine/cuda/runtime.h"

namespace fovea {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kHugePage = std::size_t{1} << 21;

/// Rounds up to a multiple of 1/8 of the largest power of two below, so that at most 12.5 % is lost
/// and slightly different sizes share a class.
std::size_t size_class(std::size_t bytes) {
  if (bytes <= 512) return (bytes + kAlignment - 1) / kAlignment * kAlignment;
  const int top = 63 - __builtin_clzll(bytes - 1);
  const std::size_t step = std::size_t{1} << (top - 3);
  return (bytes + step - 1) / step * step;
}

class CpuAllocator {
 public:
  std::byte* allocate(std::size_t bytes) {
    const std::size_t size = size_class(bytes);
    const std::lock_guard lock(mutex_);
    std::byte* data = take_cached(size);
    if (data == nullptr) data = from_system(size);
    stats_.current_bytes += static_cast<std::int64_t>(size);
    stats_.peak_bytes = std::max(stats_.peak_bytes, stats_.current_bytes);
    return data;
  }

  void deallocate(std::byte* data, std::size_t bytes) {
    const std::size_t size = size_class(bytes);
    const std::lock_guard lock(mutex_);
    stats_.current_bytes -= static_cast<std::int64_t>(size);
    cache_[size].push_back(data);
  }

  MemoryStats stats() {
    const std::lock_guard lock(mutex_);
    return stats_;
  }

  void reset_peak() {
    const std::lock_guard lock(mutex_);
    stats_.peak_bytes = stats_.current_bytes;
  }

  void release_cached() {
    const std::lock_guard lock(mutex_);
    drop_cache();
  }

 private:
  std::byte* take_cached(std::size_t size) {
    const auto found = cache_.find(size);
    if (found == cache_.end() || found->second.empty()) return nullptr;
    std::byte* const data = found->second.back();
    found->second.pop_back();
    return data;
  }

  std::byte* from_system(std::size_t size) {
    void* data = try_system(size);
    if (data == nullptr) {
      drop_cache();
      data = try_system(size);
    }
    check(data != nullptr, "memory: ", size, " bytes are not to be had on the CPU (",
          stats_.current_bytes, " in use); a smaller batch needs less");
    stats_.reserved_bytes += static_cast<std::int64_t>(size);
    ++stats_.allocations;
    return static_cast<std::byte*>(data);
  }

  static void* try_system(std::size_t size) {
    const bool large = size >= 2 * kHugePage;
    const std::size_t alignment = large ? kHugePage : kAlignment;
    void* const data =
        std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
    if (data != nullptr && large) madvise(data, size, MADV_HUGEPAGE);
    return data;
  }

  void drop_cache() {
    for (auto& [size, blocks] : cache_) {
      for (std::byte* block : blocks) std::free(block);
      stats_.reserved_bytes -= static_cast<std::int64_t>(size * blocks.size());
      blocks.clear();
    }
  }

  std::mutex mutex_;
  std::map<std::size_t, std::vector<std::byte*>> cache_;
  MemoryStats stats_;
};

/// Never destroyed: tensors with static lifetime may outlive everything else.
CpuAllocator& cpu_allocator() {
  static auto* const allocator = std::make_unique<CpuAllocator>().release();
  return *allocator;
}

}  // namespace

Storage::Block::Block(std::size_t size, Device where) : bytes(size), device(where) {
  if (bytes == 0) return;
  data = device.is_cpu() ? cpu_allocator().allocate(bytes)
                         : static_cast<std::byte*>(cuda::allocate(bytes, device.index));
}

Storage::Block::~Block() {
  if (data == nullptr) return;
  if (device.is_cpu()) {
    cpu_allocator().deallocate(data, bytes);
  } else {
    cuda::deallocate(data, bytes, device.index);
  }
}

Storage::Storage(std::size_t bytes, Device device)
    : block_((require_device(device), std::make_shared<Block>(bytes, device))) {}

MemoryStats memory_stats(Device device) {
  return device.is_cpu() ? cpu_allocator().stats() : cuda::memory_stats(device.index);
}

void reset_peak_memory(Device device) {
  return device.is_cpu() ? cpu_allocator().reset_peak() : cuda::reset_peak_memory(device.index);
}

void release_cached_memory(Device device) {
  return device.is_cpu() ? cpu_allocator().release_cached()
                         : cuda::release_cached_memory(device.index);
}

}  // namespace fovea
