// Per-thread buffers that only grow and are freed with their thread.
#include "ops/common/cpu/scratch.h"

#include <array>
#include <cstdlib>
#include <memory>

#include "engine/base/error.h"

namespace fovea::ops::cpu {
namespace {

struct Free {
  void operator()(void* pointer) const { std::free(pointer); }
};

struct Buffer {
  std::unique_ptr<void, Free> memory;
  std::size_t bytes = 0;
};

}  // namespace

void* scratch(Scratch purpose, std::size_t bytes) {
  thread_local std::array<Buffer, static_cast<std::size_t>(Scratch::count)> buffers;
  Buffer& buffer = buffers[static_cast<std::size_t>(purpose)];
  if (buffer.bytes < bytes) {
    const std::size_t rounded = (bytes + 4095) / 4096 * 4096;
    buffer = {};
    buffer.memory.reset(std::aligned_alloc(64, rounded));
    check(buffer.memory != nullptr, "scratch: no memory for ", rounded, " bytes");
    buffer.bytes = rounded;
  }
  return buffer.memory.get();
}

}  // namespace fovea::ops::cpu
