// Work of a kernel: 32-byte sectors of device memory, wavefronts of shared memory, products on
// tensor cores.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "tests/cuda/emulator/order.h"

namespace fovea::emulate {

struct Counters {
  std::uint64_t launches = 0;         ///< counted always; the rest if Machine::counts is set
  std::uint64_t global_requests = 0;  ///< per warp: its lanes' accesses at one place in one turn
  std::uint64_t global_bytes = 0;     ///< bytes requested by several lanes count once
  std::uint64_t vector_bytes = 0;     ///< part of global_bytes in accesses of 16 bytes
  std::uint64_t sectors = 0;          ///< sectors touched by the requests, without a cache
  std::uint64_t shared_requests = 0;
  std::uint64_t wavefronts = 0;        ///< shared memory cycles: 32 banks of 4 bytes each
  std::uint64_t extra_wavefronts = 0;  ///< cycles above the minimum for these bytes
  std::uint64_t mma = 0;               ///< products on tensor cores, once per warp

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

/// Combines the sequential accesses of a warp's lanes into the requests of hardware: the n-th
/// access of each lane at the same place in the program.
class AccessCounter {
 public:
  void start_launch() { counters_ = {.launches = 1}; }
  void add(unsigned lane, const void* place, const void* address, std::size_t bytes,
           bool is_shared);
  void add_mma() { ++counters_.mma; }
  void finish_warp();  ///< the following lanes belong to another warp
  [[nodiscard]] const Counters& counters() const { return counters_; }

 private:
  struct Request {
    std::size_t bytes = 0;
    bool is_shared = false;
    std::map<unsigned, std::uintptr_t> addresses;  ///< address per lane
  };
  void count_shared(const Request& request);

  std::map<std::pair<const void*, unsigned>, Request> requests_;  ///< by place and turn
  std::array<std::map<const void*, unsigned>, kWarpSize> turns_;
  Counters counters_;
};

}  // namespace fovea::emulate
