// Memory traffic of a kernel: 32-byte sectors of device memory, wavefronts of shared memory.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "tests/cuda/emulator/order.h"

namespace fovea::emulate {

struct Counters {
  std::uint64_t global_requests = 0;  ///< of a warp: what its lanes do at one place in one turn
  std::uint64_t global_bytes = 0;     ///< of lanes that want the same ones, once
  std::uint64_t vector_bytes = 0;     ///< of those, in accesses of 16 bytes
  std::uint64_t sectors = 0;          ///< touched by the requests; no cache is thought of
  std::uint64_t shared_requests = 0;
  std::uint64_t wavefronts = 0;        ///< that shared memory takes: 32 banks of 4 bytes a turn
  std::uint64_t extra_wavefronts = 0;  ///< above the least that so many bytes take

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

/// Gathers what the lanes of a warp do one after another into what hardware would do at once: the
/// n-th access of each at the same place in the program.
class AccessCounter {
 public:
  void start_launch() { counters_ = {}; }
  void add(unsigned lane, const void* place, const void* address, std::size_t bytes,
           bool is_shared);
  void finish_warp();  ///< the next lanes are another warp's
  [[nodiscard]] const Counters& counters() const { return counters_; }

 private:
  struct Request {
    std::size_t bytes = 0;
    bool is_shared = false;
    std::map<unsigned, std::uintptr_t> addresses;  ///< of each lane
  };
  void count_shared(const Request& request);

  std::map<std::pair<const void*, unsigned>, Request> requests_;  ///< by place and turn
  std::array<std::map<const void*, unsigned>, kWarpSize> turns_;
  Counters counters_;
};

}  // namespace fovea::emulate
