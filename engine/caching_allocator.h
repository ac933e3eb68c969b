// A caching allocator: keeps freed blocks by size class and reuses them. A training step requests
// the same sizes over and over, and fresh memory from the system costs more than the kernels that
// fill it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "engine/base/error.h"
#include "engine/storage.h"

namespace fovea {

/// The memory of one device. `System` has allocate(bytes, held) -> pointer or null (`held`: bytes
/// allocated from it so far), free(pointer), name() and total(), a type ReuseScope, kIdleShare, and
/// gives_back(scope): whether idle blocks of a scope may be freed when memory is short.
/// A block freed in one scope is reused only in the same scope. With a kIdleShare of n > 0, idle
/// blocks hold at most 1/n of the peak when the system is asked for a large block: those idle for
/// longest are given back, so that images of many sizes do not each keep their own blocks.
template <class System>
class CachingAllocator {
 public:
  using ReuseScope = typename System::ReuseScope;

  explicit CachingAllocator(System system = {}) : system_(system) {}

  /// Throws OutOfMemory when the system cannot provide the memory even after the cache was
  /// released.
  [[nodiscard]] void* allocate(std::size_t bytes, const ReuseScope& scope) {
    const std::size_t size = size_class(bytes);
    const std::lock_guard lock(mutex_);
    void* data = take_cached({scope, size});
    if (data == nullptr) data = from_system(size);
    stats_.current_bytes += static_cast<std::int64_t>(size);
    stats_.peak_bytes = std::max(stats_.peak_bytes, stats_.current_bytes);
    return data;
  }

  /// `bytes` and `scope` are those of the allocation.
  void deallocate(void* data, std::size_t bytes, const ReuseScope& scope) {
    const std::size_t size = size_class(bytes);
    const std::lock_guard lock(mutex_);
    stats_.current_bytes -= static_cast<std::int64_t>(size);
    cache_[{scope, size}].push_back({data, ++freed_});
  }

  [[nodiscard]] MemoryStats stats() {
    const std::lock_guard lock(mutex_);
    return stats_;
  }

  void reset_peak() {
    const std::lock_guard lock(mutex_);
    stats_.peak_bytes = stats_.current_bytes;
  }

  /// Releases the cached blocks of all places, or of the places for which the condition holds.
  void release_cached() {
    release_cached([](const ReuseScope&) { return true; });
  }
  template <class Condition>
  void release_cached(const Condition& is_meant) {
    const std::lock_guard lock(mutex_);
    drop_cache(is_meant);
  }

 private:
  /// Rounds up to a multiple of 1/8 of the next smaller power of two, so that at most 12.5 % is
  /// lost and slightly different sizes share a class.
  static std::size_t size_class(std::size_t bytes) {
    constexpr std::size_t kAlignment = 64;
    if (bytes <= 512) return (bytes + kAlignment - 1) / kAlignment * kAlignment;
    const int top = 63 - __builtin_clzll(bytes - 1);
    const std::size_t step = std::size_t{1} << (top - 3);
    return (bytes + step - 1) / step * step;
  }

  using Key = std::pair<ReuseScope, std::size_t>;
  struct Idle {
    void* data;
    std::uint64_t since;  ///< number of blocks freed before
  };

  void* take_cached(const Key& key) {
    const auto found = cache_.find(key);
    if (found == cache_.end() || found->second.empty()) return nullptr;
    void* const data = found->second.back().data;
    found->second.pop_back();
    return data;
  }

  void* from_system(std::size_t size) {
    if constexpr (System::kIdleShare > 0) limit_idle(static_cast<std::int64_t>(size));
    void* data = system_.allocate(size, stats_.reserved_bytes);
    if (data == nullptr) {
      drop_cache([this](const ReuseScope& scope) { return system_.gives_back(scope); });
      data = system_.allocate(size, stats_.reserved_bytes);
    }
    if (data == nullptr) {
      throw OutOfMemory({static_cast<std::int64_t>(size), stats_.current_bytes,
                         static_cast<std::int64_t>(system_.total())},
                        system_.name());
    }
    stats_.reserved_bytes += static_cast<std::int64_t>(size);
    ++stats_.allocations;
    return data;
  }

  void limit_idle(std::int64_t size) {
    constexpr std::int64_t kLarge = std::int64_t{1} << 25;
    if (size < kLarge) return;  // blocks of smaller classes would be asked for again in each step
    const std::int64_t peak = std::max(stats_.peak_bytes, stats_.current_bytes + size);
    while (stats_.reserved_bytes - stats_.current_bytes > peak / System::kIdleShare) {
      auto oldest = cache_.end();
      for (auto at = cache_.begin(); at != cache_.end(); ++at) {
        if (at->second.empty()) continue;
        const bool older =
            oldest == cache_.end() || at->second.front().since < oldest->second.front().since;
        if (older) oldest = at;
      }
      if (oldest == cache_.end()) return;
      system_.free(oldest->second.front().data);
      oldest->second.erase(oldest->second.begin());
      stats_.reserved_bytes -= static_cast<std::int64_t>(oldest->first.second);
    }
  }

  template <class Condition>
  void drop_cache(const Condition& is_meant) {
    for (auto& [key, blocks] : cache_) {
      if (!is_meant(key.first)) continue;
      for (const Idle& block : blocks) system_.free(block.data);
      stats_.reserved_bytes -= static_cast<std::int64_t>(key.second * blocks.size());
      blocks.clear();
    }
  }

  System system_;
  std::mutex mutex_;
  std::map<Key, std::vector<Idle>> cache_;  // blocks in the order in which they became idle
  std::uint64_t freed_ = 0;
  MemoryStats stats_;
};

}  // namespace fovea
