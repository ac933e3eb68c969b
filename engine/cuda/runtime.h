// The CUDA side of the engine: devices, streams, memory, transfers. engine/cuda/*.cpp implement it;
// no_cuda.cpp has the same symbols for builds without CUDA, which throw "this build has no CUDA".
// Pointers are device pointers unless named host. Everything here may be called from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "engine/storage.h"

namespace fovea::cuda {

/// Whether this build has CUDA and the machine a usable device. Never throws.
[[nodiscard]] bool available();
[[nodiscard]] int device_count();
/// Why available() is false: "this build has no CUDA", "no CUDA driver", ...
[[nodiscard]] std::string unavailable_reason();

/// Makes a device this thread's current one, on which kernels run.
void set_device(int device);

/// A queue of work on one device, done in its order and beside that of other streams. A handle;
/// streams live as long as the program. None of them is CUDA's legacy stream, which waits for all.
class Stream {
 public:
  /// The one on which ops run unless told otherwise.
  static Stream compute(int device);
  /// The one for copies that are to go on beside the ops.
  static Stream upload(int device);
  /// This thread's: compute(), or that of the innermost StreamScope.
  static Stream current(int device);

  [[nodiscard]] int device() const { return device_; }
  [[nodiscard]] void* handle() const { return handle_; }  ///< a cudaStream_t
  void synchronize() const;                               ///< the host waits until it is empty
  /// What it is asked for from now on comes after all that `other` has been asked for.
  void wait_for(Stream other) const;
  friend auto operator<=>(const Stream&, const Stream&) = default;

 private:
  Stream(int device, void* handle) : device_(device), handle_(handle) {}

  int device_;
  void* handle_;
};

/// Makes a stream this thread's current one on its device.
class StreamScope {
 public:
  explicit StreamScope(Stream stream);
  ~StreamScope();
  StreamScope(const StreamScope&) = delete;
  StreamScope& operator=(const StreamScope&) = delete;

 private:
  [[maybe_unused]] Stream before_;
};

/// Memory of the current stream: what was freed is handed out again to the same stream only, whose
/// order protects it. Throws OutOfMemory.
[[nodiscard]] void* allocate(std::size_t bytes, int device);
void deallocate(void* data, std::size_t bytes, int device);
/// `data` is used by another stream than it was allocated on. Freed, it is handed out again only
/// after what that stream had been asked for by then.
void also_used_by(void* data, Stream stream);
[[nodiscard]] MemoryStats memory_stats(int device);
/// Waits for those that still use memory which was freed.
void reset_peak_memory(int device);
[[nodiscard]] std::int64_t free_memory(int device);
void release_cached_memory(int device);

/// Within it, this thread's memory of a device comes from a pool of its own, which keeps what is
/// freed until the pool ends: a captured graph finds its addresses again.
class PrivatePool {
 public:
  explicit PrivatePool(int device);
  ~PrivatePool();  ///< waits for the device, and gives the memory back
  PrivatePool(const PrivatePool&) = delete;
  PrivatePool& operator=(const PrivatePool&) = delete;

  /// While it lives, this thread allocates from the pool.
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

/// In the order of the current stream, through pinned memory: `host` may be changed or freed at
/// once, and the host does not wait.
void copy_host_to_device(void* device_data, const void* host, std::size_t bytes, int device);
/// The host waits until the bytes are there.
void copy_device_to_host(void* host, const void* device_data, std::size_t bytes, int device);
/// In the order of both current streams.
void copy_device_to_device(void* to, int to_device, const void* from, int from_device,
                           std::size_t bytes);
/// Waits for all streams of a device.
void synchronize(int device);
/// The same before memory is handed back; what goes wrong is left to the next call.
void drain(int device) noexcept;

/// How often the host and a device met, since the program started; of all devices.
struct Traffic {
  std::int64_t synchronisations = 0;  ///< the host waited
  std::int64_t copies_to_device = 0, copies_to_host = 0, copies_between_devices = 0;
};
[[nodiscard]] Traffic traffic();

}  // namespace fovea::cuda
