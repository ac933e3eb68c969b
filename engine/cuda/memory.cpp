// Device memory, cached by stream and pool; and pinned memory of the host, through which copies go
// without the host waiting for them.
#include "engine/cuda/memory.h"

#include <algorithm>
#include <atomic>
#include <compare>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/caching_allocator.h"
#include "engine/cuda/runtime.h"
#include "engine/cuda/status.h"

namespace fovea::cuda {
namespace {

/// Where a freed block may be used again.
struct Place {
  Stream stream;
  std::uint64_t pool = 0;  ///< 0: the one for all; else a PrivatePool's
  friend auto operator<=>(const Place&, const Place&) = default;
};

/// cudaMalloc and cudaFree, for the allocator.
struct DeviceMemory {
  using Place = cuda::Place;
  int device = 0;

  void* allocate(std::size_t size) const {
    void* data = nullptr;
    set_device(device);
    const cudaError_t status = cudaMalloc(&data, size);
    if (status == cudaErrorMemoryAllocation) {
      cudaGetLastError();  // clears it: the allocator tries again without its cache
      return nullptr;
    }
    cuda_check(status, "cudaMalloc");
    return data;
  }
  void free(void* data) const { cudaFree(data); }
  std::string name() const { return "cuda:" + std::to_string(device); }
  std::size_t total() const {
    std::size_t free = 0, total = 0;
    set_device(device);
    cuda_check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
    return total;
  }
};

/// FOVEA_NO_CACHE=1 returns each block at once, so that compute-sanitizer sees what is used after
/// it was freed, or read before it was written.
bool keeps_blocks() {
  static const bool keeps = [] {
    const char* const value = std::getenv("FOVEA_NO_CACHE");
    return value == nullptr || std::string(value) != "1";
  }();
  return keeps;
}

/// Where another stream was when a block was freed.
class Mark {
 public:
  explicit Mark(Stream stream) {
    set_device(stream.device());
    cuda_check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "cudaEventCreate");
    cuda_check(cudaEventRecord(event_, static_cast<cudaStream_t>(stream.handle())),
               "cudaEventRecord");
  }
  Mark(Mark&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  Mark& operator=(Mark&& other) noexcept {
    std::swap(event_, other.event_);
    return *this;
  }
  ~Mark() {
    if (event_ != nullptr) cudaEventDestroy(event_);
  }
  [[nodiscard]] bool is_passed() const { return cudaEventQuery(event_) == cudaSuccess; }

 private:
  cudaEvent_t event_ = nullptr;
};

/// One device's blocks and what is known of those in use. A block that several streams used is kept
/// apart when it is freed, until the others have passed that moment: its own stream does not wait.
class DeviceBlocks {
 public:
  explicit DeviceBlocks(int device) : allocator_(DeviceMemory{device}) {}

  void* allocate(std::size_t bytes, const Place& place) {
    const std::lock_guard lock(mutex_);
    if (place.pool == 0) collect();  // a stream that is captured may not be asked
    void* const data = allocator_.allocate(bytes, place);
    live_.insert_or_assign(data, Live{place, {}});
    return data;
  }

  void deallocate(void* data, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    const auto found = live_.find(data);
    const Live live = std::move(found->second);
    live_.erase(found);
    if (live.users.empty()) return give_back({data, bytes, live.place, {}});
    Freed freed{data, bytes, live.place, {}};
    for (const Stream& user : live.users) freed.marks.emplace_back(user);
    freed_.push_back(std::move(freed));
  }

  void add_user(void* data, Stream stream) {
    const std::lock_guard lock(mutex_);
    Live& live = live_.at(data);
    const auto known = std::find(live.users.begin(), live.users.end(), stream);
    if (known == live.users.end() && stream != live.place.stream) live.users.push_back(stream);
  }

  CachingAllocator<DeviceMemory>& allocator() { return allocator_; }

 private:
  struct Live {
    Place place;
    std::vector<Stream> users;
  };
  struct Freed {
    void* data;
    std::size_t bytes;
    Place place;
    std::vector<Mark> marks;
  };

  void give_back(const Freed& freed) {
    allocator_.deallocate(freed.data, freed.bytes, freed.place);
    if (!keeps_blocks()) allocator_.release_cached();
  }

  void collect() {
    std::erase_if(freed_, [this](const Freed& freed) {
      const bool is_unused = std::all_of(freed.marks.begin(), freed.marks.end(),
                                         [](const Mark& mark) { return mark.is_passed(); });
      if (is_unused) give_back(freed);
      return is_unused;
    });
  }

  CachingAllocator<DeviceMemory> allocator_;
  std::mutex mutex_;
  std::unordered_map<void*, Live> live_;
  std::vector<Freed> freed_;
};

/// Never destroyed: tensors with static lifetime may outlive everything else.
DeviceBlocks& blocks_of(int device) {
  static auto& all = *new std::map<int, std::unique_ptr<DeviceBlocks>>;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  std::unique_ptr<DeviceBlocks>& blocks = all[device];
  if (!blocks) blocks = std::make_unique<DeviceBlocks>(device);
  return *blocks;
}

thread_local std::uint64_t current_pool = 0;

}  // namespace

void* allocate(std::size_t bytes, int device) {
  return blocks_of(device).allocate(bytes, {Stream::current(device), current_pool});
}
void deallocate(void* data, std::size_t bytes, int device) {
  blocks_of(device).deallocate(data, bytes);
}
void also_used_by(void* data, Stream stream) {
  if (data != nullptr) blocks_of(stream.device()).add_user(data, stream);
}
MemoryStats memory_stats(int device) { return blocks_of(device).allocator().stats(); }
void reset_peak_memory(int device) { blocks_of(device).allocator().reset_peak(); }
void release_cached_memory(int device) { blocks_of(device).allocator().release_cached(); }

PrivatePool::PrivatePool(int device) : device_(device) {
  static std::atomic<std::uint64_t> pools{0};
  id_ = ++pools;
}
PrivatePool::~PrivatePool() {
  blocks_of(device_).allocator().release_cached([this](const Place& p) { return p.pool == id_; });
}
PrivatePool::Scope::Scope(const PrivatePool& pool) : before_(current_pool) {
  current_pool = pool.id_;
}
PrivatePool::Scope::~Scope() { current_pool = before_; }

struct PinnedMemory::Block {
  std::byte* data = nullptr;
  std::size_t bytes = 0;
  cudaEvent_t free_after = nullptr;

  explicit Block(std::size_t size) : bytes(size) {
    void* memory = nullptr;
    cuda_check(cudaHostAlloc(&memory, bytes, cudaHostAllocPortable), "cudaHostAlloc");
    data = static_cast<std::byte*>(memory);
    cuda_check(cudaEventCreateWithFlags(&free_after, cudaEventDisableTiming), "cudaEventCreate");
  }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  ~Block() {
    cudaEventDestroy(free_after);
    cudaFreeHost(data);
  }
  [[nodiscard]] bool is_free() const { return cudaEventQuery(free_after) == cudaSuccess; }
};

PinnedMemory& PinnedMemory::of(int device) {
  static auto& all = *new std::map<int, PinnedMemory>;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  return all.try_emplace(device).first->second;
}

/// Blocks double in size, so that few are made; one that is too small and free makes room.
std::byte* PinnedMemory::take(std::size_t bytes) {
  const auto fits = [&](const std::unique_ptr<Block>& block) {
    return block->bytes >= bytes && block->is_free();
  };
  auto found = std::find_if(blocks_.begin(), blocks_.end(), fits);
  if (found == blocks_.end()) {
    std::size_t size = 4096;
    while (size < bytes) size *= 2;
    blocks_.push_back(std::make_unique<Block>(size));
    found = blocks_.end() - 1;
  }
  std::rotate(blocks_.begin(), found, found + 1);  // the one that give_back() speaks of
  return blocks_.front()->data;
}

void PinnedMemory::give_back(cudaStream_t stream) {
  cuda_check(cudaEventRecord(blocks_.front()->free_after, stream), "cudaEventRecord");
}

PinnedMemory::PinnedMemory() = default;
PinnedMemory::~PinnedMemory() = default;

}  // namespace fovea::cuda
