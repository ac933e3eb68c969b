// Per-thread buffers that only grow and are freed with their thread.
#include "ops/common/cpu/scratch.h"

#include <array>
#include <cstdlib>
#include <utility>

#include "engine/base/error.h"

namespace fovea::ops::cpu {
namespace {

/// Trivially destructible, so that it stays usable when the thread's objects have been destroyed:
/// destructors of objects with static or thread lifetime may compute.
struct Buffer {
  void* memory;
  std::size_t bytes;
};
thread_local std::array<Buffer, static_cast<std::size_t>(Scratch::count)> buffers;

/// Frees a thread's buffers. Those that a destructor asks for afterwards last until the process
/// ends.
struct Release {
  ~Release() {
    for (Buffer& buffer : buffers) std::free(std::exchange(buffer, {}).memory);
  }
};

}  // namespace

void* scratch(Scratch purpose, std::size_t bytes) {
  thread_local const Release at_end;
  (void)at_end;
  Buffer& buffer = buffers[static_cast<std::size_t>(purpose)];
  if (buffer.bytes < bytes) {
    const std::size_t rounded = (bytes + 4095) / 4096 * 4096;
    std::free(std::exchange(buffer, {}).memory);
    buffer = {std::aligned_alloc(64, rounded), rounded};
    if (buffer.memory == nullptr) buffer = {};
    check(buffer.memory != nullptr, "scratch: no memory for ", rounded, " bytes");
  }
  return buffer.memory;
}

}  // namespace fovea::ops::cpu
