// Work of a kernel: 32-byte sectors of device memory, wavefronts of shared memory, products on
// tensor cores, exponentials.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "tests/cuda/emulator/order.h"

namespace fovea::emulate {

struct Counters {
  std::uint64_t launches = 0;         ///< counted always; the rest if Machine::counts is set
  std::uint64_t global_requests = 0;  ///< per warp: its lanes' accesses at one place in one turn
  std::uint64_t global_bytes = 0;     ///< bytes requested by several lanes count once
  std::uint64_t vector_bytes = 0;     ///< part of global_bytes in accesses of 16 bytes
  std::uint64_t sectors = 0;          ///< sectors touched by the requests, without a cache
  std::uint64_t block_sectors = 0;    ///< of these, each once a block in reads and once in writes
  /// The different sectors that a launch reads, and those that it writes: what is left to the
  /// memory behind a cache that holds them all.
  std::uint64_t distinct_sectors = 0;
  std::uint64_t shared_requests = 0;
  std::uint64_t wavefronts = 0;        ///< shared memory cycles: 32 banks of 4 bytes each
  std::uint64_t extra_wavefronts = 0;  ///< cycles above the minimum for these bytes
  std::uint64_t mma = 0;               ///< products on tensor cores, once per warp
  std::uint64_t mma_tf32 = 0;          ///< those of them in TF32
  std::uint64_t exponentials = 0;      ///< of attention on tensor cores, once per thread

  Counters& operator+=(const Counters& other);
  [[nodiscard]] double conflicts_a_request() const {
    return shared_requests == 0
               ? 0
               : static_cast<double>(extra_wavefronts) / static_cast<double>(shared_requests);
  }
  [[nodiscard]] double vector_share() const {
    return global_bytes == 0
               ? 0
               : static_cast<double>(vector_bytes) / static_cast<double>(global_bytes);
  }
};

/// Sectors of device memory, which kernels touch in runs.
class SectorSet {
 public:
  /// Returns whether the sector is new.
  bool insert(std::uintptr_t sector);
  void clear() { pages_.clear(); }

 private:
  static constexpr std::size_t kPage = 256;

  std::unordered_map<std::uintptr_t, std::bitset<kPage>> pages_;
};

/// Combines the sequential accesses of a warp's lanes into the requests of hardware: the n-th
/// access of each lane at the same place in the program.
class AccessCounter {
 public:
  enum class Target { read, written, shared };

  void start_launch();
  void start_block() { block_[0].clear(), block_[1].clear(); }
  void add(unsigned lane, const void* place, const void* address, std::size_t bytes, Target target);
  void add_mma(bool is_tf32);
  void add_exponential() { ++counters_.exponentials; }
  void finish_warp();  ///< the following lanes belong to another warp
  [[nodiscard]] const Counters& counters() const { return counters_; }

 private:
  struct Request {
    std::size_t bytes = 0;
    Target target = Target::read;
    std::uint32_t lanes = 0;
    std::array<std::uintptr_t, kWarpSize> addresses;  ///< of those lanes
  };
  /// A place in the program, and the requests that are made there.
  struct Place {
    std::vector<Request> requests;
    std::array<std::uint32_t, kWarpSize> turns{};  ///< accesses of each lane so far
  };
  void count_shared(const Request& request);
  void count_global(const Request& request);

  std::unordered_map<const void*, Place> places_;
  std::vector<Place*> used_;  ///< those with requests
  Counters counters_;
  SectorSet read_, written_;                                 ///< by the launch
  std::array<SectorSet, 2> block_;                           ///< read and written by the block
  std::vector<std::uintptr_t> sectors_, addresses_, words_;  ///< of the request that is counted
};

}  // namespace fovea::emulate
