// The state of each byte of a range.
#include "tests/cuda/fake/ranges.h"

#include "tests/cuda/emulator/memory.h"

namespace fovea::fake {

using emulate::ByteState;
using emulate::DeviceMemory;
using emulate::Memory;

std::string objection(const char* what, const void* data, std::size_t bytes, bool is_read) {
  const Memory& memory = DeviceMemory::instance().bytes();
  if (!memory.holds(data)) return std::string(what) + ": not memory of a device";
  const std::size_t first = memory.offset_of(data);
  for (std::size_t i = 0; i < bytes; ++i) {
    const ByteState state = memory.state(first + i);
    const char* const why = state == ByteState::outside ? ": out of bounds"
                            : state == ByteState::freed ? ": memory that was freed"
                            : is_read && state == ByteState::undefined
                                ? ": memory that nobody has written"
                                : nullptr;
    if (why == nullptr) continue;
    return std::string(what) + " of " + std::to_string(bytes) + " bytes, " +
           DeviceMemory::instance().place_of(first + i) + why;
  }
  return {};
}

void mark_written(const void* data, std::size_t bytes) {
  const Memory& memory = DeviceMemory::instance().bytes();
  memory.set(memory.offset_of(data), bytes, ByteState::valid);
}

}  // namespace fovea::fake
