// The CUDA side of the engine: devices, streams, memory, transfers. engine/cuda/*.cpp implement it;
// no_cuda.cpp has the same symbols for builds without CUDA, which throw "this build has no CUDA".
// Pointers are device pointers unless named host. Everything here may be called from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "engine/storage.h"

namespace fovea::cuda {

/// Whether this build has CUDA and the machine a usable device. Never throws.
[[nodiscard]] bool available();
[[nodiscard]] int device_count();
/// Why available() is false: "this build has no CUDA", "no CUDA driver", ...
[[nodiscard]] std::string unavailable_reason();

/// Ten times the version of a device's instruction set: 75, 80, 90.
[[nodiscard]] int compute_capability(int device);

/// Makes `device` this thread's current device, on which kernels run.
void set_device(int device);

class Event;

/// A point in a stream's work.
class Moment {
 private:
  friend class Stream;
  std::shared_ptr<const Event> event_;
};

/// A queue of work on one device. Its work runs in order and concurrently with other streams. A
/// handle; streams live as long as the program. None is CUDA's legacy default stream, which
/// synchronises with all others.
class Stream {
 public:
  /// The stream of the ops, unless a StreamScope selects another one.
  static Stream compute(int device);
  /// The stream of copies that overlap with the ops.
  static Stream upload(int device);
  /// The stream of exchanges with other processes.
  static Stream exchange(int device);
  /// This thread's stream: compute(), or the one of the innermost StreamScope.
  static Stream current(int device);

  [[nodiscard]] int device() const { return device_; }
  [[nodiscard]] void* handle() const { return handle_; }  ///< a cudaStream_t
  void synchronize() const;  ///< blocks the host until the stream is empty
  [[nodiscard]] bool is_empty() const;
  /// Orders work enqueued on this stream from here on after all work enqueued on `other` so far.
  void wait_for(Stream other) const;
  /// The same after all work that was enqueued on another stream at that moment.
  void wait_for(const Moment& moment) const;
  /// The point behind all work enqueued so far.
  [[nodiscard]] Moment now() const;
  friend auto operator<=>(const Stream&, const Stream&) = default;

 private:
  Stream(int device, void* handle) : device_(device), handle_(handle) {}

  int device_;
  void* handle_;
};

/// Makes a stream this thread's current stream on its device.
class StreamScope {
 public:
  explicit StreamScope(Stream stream);
  ~StreamScope();
  StreamScope(const StreamScope&) = delete;
  StreamScope& operator=(const StreamScope&) = delete;

 private:
  friend class Stream;

  Stream stream_;
  [[maybe_unused]] const StreamScope* outer_ = nullptr;  ///< the next older one of this thread
};

/// Allocates memory for the current stream. A freed block is reused by the same stream only, whose
/// order protects it. Throws OutOfMemory.
[[nodiscard]] void* allocate(std::size_t bytes, int device);
void deallocate(void* data, std::size_t bytes, int device);
/// Declares that `data` is used by a stream other than the one it was allocated on. Once freed, it
/// is reused only after the work enqueued on that stream by then. Memory that allocate() has not
/// returned is left to its owner.
void also_used_by(void* data, Stream stream);
[[nodiscard]] MemoryStats memory_stats(int device);
/// Resets the peak, after waiting for streams that still use freed memory.
void reset_peak_memory(int device);
[[nodiscard]] std::int64_t free_memory(int device);
/// Leaves the memory of PrivatePools alone.
void release_cached_memory(int device);

/// While its Scope is alive, this thread allocates device memory from a separate pool, which keeps
/// freed blocks until the pool is destroyed, so that a captured graph finds its addresses again.
class PrivatePool {
 public:
  explicit PrivatePool(int device);
  ~PrivatePool();  ///< waits for the device, then releases the memory that nothing uses any more
  PrivatePool(const PrivatePool&) = delete;
  PrivatePool& operator=(const PrivatePool&) = delete;

  /// Makes this thread allocate from the pool while it is alive.
  class Scope {
   public:
    explicit Scope(const PrivatePool& pool);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    [[maybe_unused]] std::uint64_t before_;
  };

 private:
  [[maybe_unused]] int device_;
  [[maybe_unused]] std::uint64_t id_;
};

/// Copies through pinned memory, in the order of the current stream. `host` may be changed or
/// freed at once, and the host does not wait.
void copy_host_to_device(void* device_data, const void* host, std::size_t bytes, int device);
/// Blocks the host until the bytes have arrived.
void copy_device_to_host(void* host, const void* device_data, std::size_t bytes, int device);
/// Pinned host memory between a device and another process. Copies run in the order of the current
/// stream, and the host does not wait.
class HostStage {
 public:
  HostStage(std::size_t bytes, int device);
  ~HostStage();  ///< the memory is reused after the copies from it
  HostStage(const HostStage&) = delete;
  HostStage& operator=(const HostStage&) = delete;

  [[nodiscard]] std::byte* data() const;
  /// Copies to data() + offset.
  void fetch(std::size_t offset, const void* device_data, std::size_t bytes) const;
  void put(std::size_t offset, void* device_data, std::size_t bytes) const;

 private:
  class Memory;
  std::unique_ptr<Memory> memory_;
};
/// Ordered on both devices' current streams. On one device it is no launch of a kernel.
void copy_device_to_device(void* to, int to_device, const void* from, int from_device,
                           std::size_t bytes);
/// Blocks the host until all streams of a device are empty.
void synchronize(int device);
/// synchronize() before memory is released; errors are left to the next call.
void drain(int device) noexcept;

/// Counts of host-device synchronisations and copies since the program started, over all devices.
struct Traffic {
  std::int64_t synchronisations = 0;  ///< times the host waited for a device
  std::int64_t copies_to_device = 0, copies_to_host = 0, copies_between_devices = 0;
};
[[nodiscard]] Traffic traffic();

}  // namespace fovea::cuda
