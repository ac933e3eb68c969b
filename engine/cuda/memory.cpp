// Device memory, cached per stream and pool.
#include <algorithm>
#include <atomic>
#include <compare>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/caching_allocator.h"
#include "engine/cuda/environment.h"
#include "engine/cuda/event.h"
#include "engine/cuda/fork.h"
#include "engine/cuda/recording.h"
#include "engine/cuda/runtime.h"
#include "engine/cuda/status.h"

namespace fovea::cuda {
namespace {

/// Where a freed block may be reused: on its stream, for its pool.
struct ReuseScope {
  Stream stream;
  std::uint64_t pool = 0;  ///< 0: the shared pool; otherwise a PrivatePool's
  friend auto operator<=>(const ReuseScope&, const ReuseScope&) = default;
};

struct Room {
  std::size_t free = 0, total = 0;
};

Room room_of(int device) {
  Room room;
  set_device(device);
  cuda_check(cudaMemGetInfo(&room.free, &room.total), "cudaMemGetInfo");
  return room;
}

/// cudaMalloc and cudaFree as the System of CachingAllocator.
struct DeviceMemory {
  using ReuseScope = cuda::ReuseScope;
  static constexpr std::int64_t kIdleShare = 0;  // cudaFree waits for the device
  int device = 0;

  void* allocate(std::size_t size, std::int64_t /*held*/) const {
    refuse_in_capture("needs more memory than in the step before");
    void* data = nullptr;
    set_device(device);
    const cudaError_t status = cudaMalloc(&data, size);
    if (status == cudaErrorMemoryAllocation) {
      cudaGetLastError();  // clears the error: the allocator retries after emptying its cache
      return nullptr;
    }
    cuda_check(status, "cudaMalloc");
    return data;
  }
  void free(void* data) const { cudaFree(data); }
  /// A graph finds the blocks of its pool again.
  static bool gives_back(const ReuseScope& scope) { return scope.pool == 0; }
  std::string name() const { return "cuda:" + std::to_string(device); }
  std::size_t total() const { return room_of(device).total; }
};

/// FOVEA_NO_CACHE=1 frees each block at once, so that compute-sanitizer detects use after free and
/// reads of uninitialised memory.
bool keeps_blocks() {
  static const bool keeps = !is_switched_on("FOVEA_NO_CACHE");
  return keeps;
}

/// An event behind all work enqueued on the stream so far.
Event mark_of(Stream stream) {
  set_device(stream.device());
  Event mark;
  mark.record(static_cast<cudaStream_t>(stream.handle()));
  return mark;
}

/// The blocks of one device and the streams that use them. A freed block that other streams used
/// is held back until they have reached that point; its own stream does not wait.
class DeviceBlocks {
 public:
  explicit DeviceBlocks(int device) : allocator_(DeviceMemory{device}) {}

  void* allocate(std::size_t bytes, const ReuseScope& scope) {
    const std::lock_guard lock(mutex_);
    if (scope.pool == 0) collect();  // events cannot be queried while a stream is being captured
    void* data = nullptr;
    try {
      data = allocator_.allocate(bytes, scope);
    } catch (const OutOfMemory&) {
      if (freed_.empty() || scope.pool != 0) throw;
      wait_for_users();  // memory that other streams still use may suffice
      data = allocator_.allocate(bytes, scope);
    }
    live_.insert_or_assign(data, Live{scope, {}});
    return data;
  }

  void deallocate(void* data, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    const auto found = live_.find(data);
    const Live live = std::move(found->second);
    live_.erase(found);
    if (live.users.empty()) return give_back({data, bytes, live.scope, {}});
    Freed freed{data, bytes, live.scope, {}};
    for (const Stream& user : live.users) freed.marks.push_back(mark_of(user));
    freed_.push_back(std::move(freed));
  }

  void add_user(void* data, Stream stream) {
    const std::lock_guard lock(mutex_);
    const auto found = live_.find(data);
    if (found == live_.end()) return;
    Live& live = found->second;
    const auto known = std::find(live.users.begin(), live.users.end(), stream);
    if (known == live.users.end() && stream != live.scope.stream) live.users.push_back(stream);
  }

  /// Releases the idle blocks of the shared pool, after waiting for streams that still use blocks
  /// freed there.
  void release_cached() {
    const std::lock_guard lock(mutex_);
    wait_for_users();
    allocator_.release_cached(DeviceMemory::gives_back);
  }

  void open_pool(std::uint64_t pool) {
    const std::lock_guard lock(mutex_);
    pools_.insert(pool);
  }
  /// Releases the pool's idle blocks.
  void close_pool(std::uint64_t pool) {
    const std::lock_guard lock(mutex_);
    wait_for_users();
    allocator_.release_cached([=](const ReuseScope& scope) { return scope.pool == pool; });
    pools_.erase(pool);
  }

  /// Excludes blocks freed before from the peak, even where another stream still uses them.
  void reset_peak() {
    const std::lock_guard lock(mutex_);
    wait_for_users();
    allocator_.reset_peak();
  }

  CachingAllocator<DeviceMemory>& allocator() { return allocator_; }

 private:
  struct Live {
    ReuseScope scope;
    std::vector<Stream> users;
  };
  struct Freed {
    void* data;
    std::size_t bytes;
    ReuseScope scope;
    std::vector<Event> marks;
  };

  /// What outlives its pool goes to the shared one.
  void give_back(const Freed& freed) {
    ReuseScope scope = freed.scope;
    if (!pools_.contains(scope.pool)) scope.pool = 0;
    allocator_.deallocate(freed.data, freed.bytes, scope);
    if (!keeps_blocks()) allocator_.release_cached();
  }

  void collect() {
    std::erase_if(freed_, [this](const Freed& freed) {
      const bool is_unused = std::all_of(freed.marks.begin(), freed.marks.end(),
                                         [](const Event& mark) { return mark.is_passed(); });
      if (is_unused) give_back(freed);
      return is_unused;
    });
  }

  void wait_for_users() {
    for (const Freed& freed : freed_) {
      for (const Event& mark : freed.marks) mark.synchronize();
    }
    collect();
  }

  CachingAllocator<DeviceMemory> allocator_;
  std::mutex mutex_;
  std::unordered_map<void*, Live> live_;
  std::vector<Freed> freed_;
  std::set<std::uint64_t> pools_;  ///< the PrivatePools that exist
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
  if (is_child_of_user()) return;  // it is the parent's
  blocks_of(device).deallocate(data, bytes);
}
void also_used_by(void* data, Stream stream) {
  if (data != nullptr) blocks_of(stream.device()).add_user(data, stream);
}
MemoryStats memory_stats(int device) { return blocks_of(device).allocator().stats(); }
std::int64_t free_memory(int device) { return static_cast<std::int64_t>(room_of(device).free); }
void reset_peak_memory(int device) { blocks_of(device).reset_peak(); }
void release_cached_memory(int device) { blocks_of(device).release_cached(); }

PrivatePool::PrivatePool(int device) : device_(device) {
  static std::atomic<std::uint64_t> pools{0};
  id_ = ++pools;
  blocks_of(device_).open_pool(id_);
}
PrivatePool::~PrivatePool() { blocks_of(device_).close_pool(id_); }
PrivatePool::Scope::Scope(const PrivatePool& pool) : before_(current_pool) {
  current_pool = pool.id_;
}
PrivatePool::Scope::~Scope() { current_pool = before_; }

}  // namespace fovea::cuda
