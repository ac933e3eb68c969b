// Reference-counted bytes on a device: 64-byte-aligned memory from a caching allocator with
// statistics, or externally owned memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "engine/base/error.h"
#include "engine/device.h"

namespace fovea {

/// A handle to bytes; copies share them. All views of a tensor share one Storage and its version.
class Storage {
 public:
  Storage() = default;
  /// Uninitialised bytes. Throws OutOfMemory when the device cannot provide them.
  Storage(std::size_t bytes, Device device);
  /// Wraps externally owned memory of that many bytes on `device`. `release`, which may be
  /// empty and must not throw, is called once, after the last handle is gone; on CUDA, all work
  /// enqueued on this device has finished by then. It is not called when this constructor throws.
  /// MemoryStats does not count this memory.
  Storage(std::byte* data, std::size_t bytes, Device device, std::function<void()> release);

  [[nodiscard]] std::byte* data() const { return block_ ? block_->data : nullptr; }
  [[nodiscard]] std::size_t bytes() const { return block_ ? block_->bytes : 0; }
  [[nodiscard]] Device device() const { return block_ ? block_->device : Device{}; }
  /// Counts in-place changes, so that a derivative can detect that a saved tensor was overwritten.
  [[nodiscard]] std::uint64_t version() const { return block_ ? block_->version : 0; }
  void bump_version() const {
    if (block_) ++block_->version;
  }
  /// Whether this is the only handle to these bytes; always false for externally owned memory.
  [[nodiscard]] bool unique() const { return block_.use_count() == 1 && !block_->is_foreign; }
  friend bool operator==(const Storage&, const Storage&) = default;

 private:
  struct Block {
    Block(std::size_t size, Device on);
    Block(std::byte* memory, std::size_t size, Device on, std::function<void()> owner_release);
    ~Block();
    Block(const Block&) = delete;
    Block& operator=(const Block&) = delete;

    std::byte* data = nullptr;
    std::size_t bytes = 0;
    std::uint64_t version = 0;
    Device device;
    bool is_foreign = false;
    std::function<void()> release{};  ///< deleter of foreign memory
  };
  std::shared_ptr<Block> block_;
};

/// Thrown when a device runs out of memory.
class OutOfMemory : public Error {
 public:
  struct Bytes {
    std::int64_t asked = 0;
    std::int64_t held = 0;   ///< bytes in live storages
    std::int64_t total = 0;  ///< bytes of the device; 0: unknown
  };
  OutOfMemory(Bytes bytes, const std::string& where);
  /// The same error with additional text.
  OutOfMemory(const OutOfMemory& cause, const std::string& more)
      : Error(cause.what() + more), bytes_(cause.bytes()) {}

  [[nodiscard]] const Bytes& bytes() const { return bytes_; }

 private:
  Bytes bytes_;
};

struct MemoryStats {
  std::int64_t current_bytes = 0;  ///< bytes in live storages
  std::int64_t peak_bytes = 0;     ///< largest current_bytes since the start or reset_peak_memory()
  std::int64_t reserved_bytes = 0;  ///< bytes held from the system: live and cached
  std::int64_t allocations = 0;     ///< requests to the system, not to the cache
};
[[nodiscard]] MemoryStats memory_stats(Device device = {});
void reset_peak_memory(Device device = {});
/// Bytes that the system can still provide, in addition to reserved_bytes. 0: unknown.
[[nodiscard]] std::int64_t free_memory(Device device = {});
/// Returns cached blocks to the system.
void release_cached_memory(Device device = {});

}  // namespace fovea
