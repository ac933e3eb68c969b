// Counters of the synchronisations and copies between host and device (Traffic in
// engine/cuda/runtime.h).
#pragma once

#include <atomic>
#include <cstdint>

namespace fovea::cuda {

struct Counters {
  std::atomic<std::int64_t> synchronisations{0};
  std::atomic<std::int64_t> copies_to_device{0}, copies_to_host{0}, copies_between_devices{0};
};
[[nodiscard]] Counters& counters();

}  // namespace fovea::cuda
