// Per-thread buffers that only grow and are freed with their thread.
#include "ops/common/cpu/scratch.h"

#include <pthread.h>

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

void free_buffers(void* /*value*/) {
  for (Buffer& buffer : buffers) std::free(std::exchange(buffer, {}).memory);
}

/// Frees the buffers of this thread when it ends: after its thread-local objects, which may compute
/// in their destructors.
void free_at_end() {
  static const pthread_key_t key = [] {
    pthread_key_t made;
    check(pthread_key_create(&made, free_buffers) == 0, "scratch: no thread-specific key is left");
    return made;
  }();
  pthread_setspecific(key, &buffers);  // a value other than null calls free_buffers()
}

}  // namespace

void* scratch(Scratch purpose, std::size_t bytes) {
  Buffer& buffer = buffers[static_cast<std::size_t>(purpose)];
  if (buffer.bytes < bytes) {
    const std::size_t rounded = (bytes + 4095) / 4096 * 4096;
    free_at_end();
    std::free(std::exchange(buffer, {}).memory);
    buffer = {std::aligned_alloc(64, rounded), rounded};
    if (buffer.memory == nullptr) buffer = {};
    check(buffer.memory != nullptr, "scratch: no memory for ", rounded, " bytes");
  }
  return buffer.memory;
}

}  // namespace fovea::ops::cpu
