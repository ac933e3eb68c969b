// Keeps freed blocks by size class and hands them out again. A training step asks for the same
// sizes over and over, and fresh memory from the system costs more than the kernels that fill it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <mutex>
#include <vector>

#include "base/error.h"
#include "engine/storage.h"

namespace fovea {

/// One device's memory. `System` has allocate(bytes) -> pointer or null, free(pointer) and name().
template <class System>
class CachingAllocator {
 public:
  explicit CachingAllocator(System system = {}) : system_(system) {}

  /// Throws when the system has not that much, even after the cache was given back.
  [[nodiscard]] void* allocate(std::size_t bytes) {
    const std::size_t size = size_class(bytes);
    const std::lock_guard lock(mutex_);
    void* data = take_cached(size);
    if (data == nullptr) data = from_system(size);
    stats_.current_bytes += static_cast<std::int64_t>(size);
    stats_.peak_bytes = std::max(stats_.peak_bytes, stats_.current_bytes);
    return data;
  }

  /// `bytes` as they were asked for.
  void deallocate(void* data, std::size_t bytes) {
    const std::size_t size = size_class(bytes);
    const std::lock_guard lock(mutex_);
    stats_.current_bytes -= static_cast<std::int64_t>(size);
    cache_[size].push_back(data);
  }

  [[nodiscard]] MemoryStats stats() {
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
  /// Rounds up to a multiple of 1/8 of the largest power of two below, so that at most 12.5 % is
  /// lost and slightly different sizes share a class.
  static std::size_t size_class(std::size_t bytes) {
    constexpr std::size_t kAlignment = 64;
    if (bytes <= 512) return (bytes + kAlignment - 1) / kAlignment * kAlignment;
    const int top = 63 - __builtin_clzll(bytes - 1);
    const std::size_t step = std::size_t{1} << (top - 3);
    return (bytes + step - 1) / step * step;
  }

  void* take_cached(std::size_t size) {
    const auto found = cache_.find(size);
    if (found == cache_.end() || found->second.empty()) return nullptr;
    void* const data = found->second.back();
    found->second.pop_back();
    return data;
  }

  void* from_system(std::size_t size) {
    void* data = system_.allocate(size);
    if (data == nullptr) {
      drop_cache();
      data = system_.allocate(size);
    }
    check(data != nullptr, "memory: ", size, " bytes are not to be had on ", system_.name(), " (",
          stats_.current_bytes, " in use); a smaller batch needs less");
    stats_.reserved_bytes += static_cast<std::int64_t>(size);
    ++stats_.allocations;
    return data;
  }

  void drop_cache() {
    for (auto& [size, blocks] : cache_) {
      for (void* block : blocks) system_.free(block);
      stats_.reserved_bytes -= static_cast<std::int64_t>(size * blocks.size());
      blocks.clear();
    }
  }

  System system_;
  std::mutex mutex_;
  std::map<std::size_t, std::vector<void*>> cache_;
  MemoryStats stats_;
};

}  // namespace fovea
