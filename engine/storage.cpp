// The CPU's memory, and storage blocks on either device.
#include "engine/storage.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "engine/base/system_memory.h"
#include "engine/caching_allocator.h"
#include "engine/cuda/runtime.h"

namespace fovea {
namespace {

struct CpuMemory {
  struct ReuseScope {
    friend auto operator<=>(const ReuseScope&, const ReuseScope&) = default;
  };
  static constexpr std::int64_t kIdleShare = 8;
  static void* allocate(std::size_t size, std::int64_t held) {
    constexpr std::size_t kHugePage = std::size_t{1} << 21;
    if (!is_there(size, held)) return nullptr;
    const bool large = size >= 2 * kHugePage;
    const std::size_t alignment = large ? kHugePage : 64;
    void* const data =
        std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
    if (data != nullptr && large) madvise(data, size, MADV_HUGEPAGE);
    return data;
  }
  /// Whether the memory is really available. Linux overcommits and kills processes that use what
  /// it cannot back; a run that is too large for the machine should end with an error instead.
  /// Memory that was granted but not yet written is not missing from the available amount; a
  /// reserve is left for allocations that are not counted here.
  static bool is_there(std::size_t size, std::int64_t held) {
    constexpr std::size_t kWorthAsking = std::size_t{1} << 26, kLeft = 32;
    if (size < kWorthAsking) return true;
    const std::int64_t available = available_memory();
    const std::int64_t granted = std::max<std::int64_t>(0, held - resident_memory());
    return available == 0 ||
           static_cast<std::int64_t>(size + total() / kLeft) + granted <= available;
  }
  static void free(void* data) { std::free(data); }
  static bool gives_back(const ReuseScope& /*scope*/) { return true; }
  static const char* name() { return "the CPU"; }
  static std::size_t total() {
    return static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) *
           static_cast<std::size_t>(sysconf(_SC_PAGE_SIZE));
  }
};

/// Never destroyed: tensors with static lifetime may outlive everything else.
CachingAllocator<CpuMemory>& cpu_memory() {
  static auto* const allocator = std::make_unique<CachingAllocator<CpuMemory>>().release();
  return *allocator;
}

std::string describe(const OutOfMemory::Bytes& bytes, const std::string& where) {
  std::ostringstream text;
  text << "memory: cannot allocate " << bytes.asked << " bytes on " << where << " (" << bytes.held
       << " in use";
  if (bytes.total > 0) text << " of " << bytes.total;
  text << "); use a smaller batch";
  return text.str();
}

}  // namespace

OutOfMemory::OutOfMemory(Bytes bytes, const std::string& where)
    : Error(describe(bytes, where)), bytes_(bytes) {}

Storage::Block::Block(std::size_t size, Device on) : bytes(size), device(on) {
  if (bytes == 0) return;
  data = static_cast<std::byte*>(device.is_cpu() ? cpu_memory().allocate(bytes, {})
                                                 : cuda::allocate(bytes, device.index));
}

Storage::Block::Block(std::byte* memory, std::size_t size, Device on,
                      std::function<void()> owner_release)
    : data(memory), bytes(size), device(on), is_foreign(true), release(std::move(owner_release)) {}

Storage::Block::~Block() {
  if (is_foreign) {
    if (device.is_cuda()) cuda::drain(device.index);
    if (release) release();
    return;
  }
  if (data == nullptr) return;
  if (device.is_cpu()) {
    cpu_memory().deallocate(data, bytes, {});
  } else {
    cuda::deallocate(data, bytes, device.index);
  }
}

Storage::Storage(std::size_t bytes, Device device)
    : block_((require_device(device), std::make_shared<Block>(bytes, device))) {}

Storage::Storage(std::byte* data, std::size_t bytes, Device device, std::function<void()> release) {
  require_device(device);
  check(data != nullptr || bytes == 0, "storage: got no memory for ", bytes, " bytes");
  block_ = std::make_shared<Block>(data, bytes, device, std::move(release));
}

MemoryStats memory_stats(Device device) {
  return device.is_cpu() ? cpu_memory().stats() : cuda::memory_stats(device.index);
}

void reset_peak_memory(Device device) {
  return device.is_cpu() ? cpu_memory().reset_peak() : cuda::reset_peak_memory(device.index);
}

std::int64_t free_memory(Device device) {
  return device.is_cpu() ? available_memory() : cuda::free_memory(device.index);
}

void release_cached_memory(Device device) {
  return device.is_cpu() ? cpu_memory().release_cached()
                         : cuda::release_cached_memory(device.index);
}

}  // namespace fovea
