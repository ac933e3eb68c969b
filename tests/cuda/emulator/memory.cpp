// A sparsely used address space, and the placement of allocations in it.
#include "tests/cuda/emulator/memory.h"

#include <sys/mman.h>

#include <cstring>
#include <stdexcept>

namespace fovea::emulate {
namespace {

template <class T>
T* reserve(std::size_t count) {
  void* const space = mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (space == MAP_FAILED) {
    throw std::runtime_error("emulator: the system refuses " + std::to_string(count * sizeof(T)) +
                             " bytes of address space (ulimit -v?)");
  }
  return static_cast<T*>(space);
}

constexpr std::size_t kAlignment = 256;  ///< guaranteed by cudaMalloc
constexpr std::size_t kRedZone = 256;    ///< minimum gap between two allocations
/// So many bytes are allocated before freed addresses are used again: an access to freed memory is
/// noticed until then. What has been in use takes memory of the host.
constexpr std::size_t kUnusedAfterFree = std::size_t{1} << 30;

std::size_t footprint(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment + kRedZone;
}

}  // namespace

Memory::Memory(std::size_t bytes)
    : size_(bytes),
      data_(reserve<std::byte>(bytes)),
      states_(reserve<ByteState>(bytes)),
      lines_(reserve<Line>(bytes / 8)),
      fourths_(reserve<Touch>(bytes / 8)),
      seconds_(reserve<Touch>(bytes / 4)),
      odd_(reserve<Touch>(bytes / 2)) {}

Memory::~Memory() {
  munmap(data_, size_);
  munmap(states_, size_ * sizeof(ByteState));
  munmap(lines_, size_ / 8 * sizeof(Line));
  munmap(fourths_, size_ / 8 * sizeof(Touch));
  munmap(seconds_, size_ / 4 * sizeof(Touch));
  munmap(odd_, size_ / 2 * sizeof(Touch));
}

void Memory::set(std::size_t offset, std::size_t bytes, ByteState state) const {
  std::memset(states_ + offset, static_cast<int>(state), bytes);
}

std::size_t Memory::first_not(ByteState state, std::size_t offset, std::size_t bytes) const {
  constexpr std::size_t kBlock = 64;  // bytes that are compared with those before them at once
  const ByteState* const states = states_ + offset;
  std::size_t i = 0;
  if (bytes > kBlock && states[0] == state) {
    i = 1;
    while (i + kBlock <= bytes && std::memcmp(states + i, states + i - 1, kBlock) == 0) i += kBlock;
  }
  while (i < bytes && states[i] == state) ++i;
  return i;
}

DeviceMemory::DeviceMemory() : memory_(kDevices * kPerDevice) {
  const char* const bytes = std::getenv("FOVEA_FAKE_MEMORY");
  if (bytes != nullptr)
    limit = std::min<std::size_t>(kPerDevice, std::strtoull(bytes, nullptr, 10));
}

DeviceMemory& DeviceMemory::instance() {
  static DeviceMemory& memory = *new DeviceMemory;  // tensors with static lifetime outlive others
  return memory;
}

int DeviceMemory::device_of(const void* address) const {
  return static_cast<int>(memory_.offset_of(address) / kPerDevice);
}

void* DeviceMemory::allocate(std::size_t bytes, int device) {
  const std::size_t begin = static_cast<std::size_t>(device) * kPerDevice + kRedZone;
  if (footprint(bytes) > available(device)) return nullptr;
  const std::size_t end = begin + kPerDevice - kRedZone, wanted = footprint(bytes);
  std::size_t& cursor = cursor_[device];
  if (cursor == 0 || cursor > begin + kUnusedAfterFree) cursor = begin;
  const std::size_t start = cursor;
  for (bool wrapped = false;;) {
    const auto next = live_.lower_bound(cursor);
    const std::size_t gap_end = next == live_.end() || next->first > end ? end : next->first;
    if (cursor + wanted <= gap_end) break;
    if (gap_end == end) {
      if (wrapped) return nullptr;
      wrapped = true;
      cursor = begin;
      const auto first = live_.lower_bound(begin);
      if (first != live_.end() && first->first == begin) cursor += footprint(first->second);
    } else {
      cursor = next->first + footprint(next->second);
    }
    if (wrapped && cursor > start) return nullptr;
  }
  const std::size_t offset = cursor;
  cursor += wanted;
  live_[offset] = bytes;
  used_[device] += wanted;
  std::memset(memory_.data() + offset, 0xee, bytes);
  memory_.set(offset, wanted, ByteState::outside);
  memory_.set(offset, bytes, ByteState::undefined);
  return memory_.data() + offset;
}

bool DeviceMemory::free(void* data) {
  const auto found = live_.find(memory_.offset_of(data));
  if (found == live_.end()) return false;
  const auto [offset, bytes] = *found;
  std::memset(memory_.data() + offset, 0xdd, bytes);
  memory_.set(offset, bytes, ByteState::freed);
  used_[device_of(data)] -= footprint(bytes);
  live_.erase(found);
  return true;
}

std::size_t DeviceMemory::available(int device) const {
  const std::size_t taken = 2 * kRedZone + used_[device];
  return limit > taken ? limit - taken : 0;
}

std::string DeviceMemory::place_of(std::size_t offset) const {
  const auto behind = live_.upper_bound(offset);
  if (behind == live_.begin()) return "at an address of no allocation";
  const auto [first, bytes] = *std::prev(behind);
  const std::string allocation = "an allocation of " + std::to_string(bytes) + " bytes";
  if (offset < first + bytes)
    return "at byte " + std::to_string(offset - first) + " of " + allocation;
  return std::to_string(offset - first - bytes) + " bytes behind " + allocation;
}

}  // namespace fovea::emulate
