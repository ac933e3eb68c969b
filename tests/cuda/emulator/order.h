// The happens-before order of a block's threads. Only __syncthreads and __syncwarp order threads;
// shuffles and differences in speed do not.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace fovea::emulate {

inline constexpr unsigned kWarpSize = 32;

/// Vector clocks, separate for the block and within each warp. A thread's clock counts the barriers
/// that it has passed.
class Order {
 public:
  void start_block(unsigned threads) {
    threads_.assign(threads, {});
    if (has_seen_) seen_.assign(seen_.size(), {});
    if (seen_.size() < threads) seen_.resize(threads);
    has_seen_ = false;
    barriers_ = 0;
  }

  void block_barrier() {
    ++barriers_;
    for (Thread& thread : threads_) thread.at_barrier = thread.clock++;
  }

  /// Synchronises the lanes of `mask`: each happens after everything that happened before any of
  /// them.
  void warp_barrier(unsigned warp, std::uint32_t mask) {
    std::array<std::uint32_t, kWarpSize> all{};
    const unsigned first = warp * kWarpSize;
    has_seen_ = true;
    for_lanes(mask, [&](unsigned lane) {
      const auto& seen = seen_[first + lane];
      for (unsigned i = 0; i < kWarpSize; ++i) all[i] = std::max(all[i], seen[i]);
      all[lane] = std::max(all[lane], threads_[first + lane].clock);
    });
    for_lanes(mask, [&](unsigned lane) {
      seen_[first + lane] = all;
      ++threads_[first + lane].clock;
    });
  }

  [[nodiscard]] std::uint32_t clock(unsigned thread) const { return threads_[thread].clock; }
  [[nodiscard]] std::uint32_t barriers() const { return barriers_; }

  /// True if `thread` happens after `other`'s action at time `clock`.
  [[nodiscard]] bool is_after(unsigned thread, unsigned other, std::uint32_t clock) const {
    if (thread == other || clock <= threads_[other].at_barrier) return true;
    if (thread / kWarpSize != other / kWarpSize) return false;
    return clock <= seen_[thread][other % kWarpSize];
  }

  template <class Do>
  static void for_lanes(std::uint32_t mask, Do action) {
    for (; mask != 0; mask &= mask - 1) action(static_cast<unsigned>(__builtin_ctz(mask)));
  }

 private:
  struct Thread {
    std::uint32_t clock = 1, at_barrier = 0;
  };
  std::vector<Thread> threads_;
  /// By thread: the clock of each lane of its warp at their last common barrier. Only barriers of
  /// warps fill it.
  std::vector<std::array<std::uint32_t, kWarpSize>> seen_;
  bool has_seen_ = false;  ///< since the block's start
  std::uint32_t barriers_ = 0;
};

}  // namespace fovea::emulate
