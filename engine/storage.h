// Reference-counted bytes on a device: 64-byte-aligned ones from a caching allocator with
// statistics, or memory that someone else owns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/error.h"
#include "engine/device.h"

namespace fovea {

/// A handle to bytes; copies share them. All views of a tensor share one Storage and its version.
class Storage {
 public:
  Storage() = default;
  /// Uninitialised bytes. Throws when the device has not that much memory.
  Storage(std::size_t bytes, Device device);
  /// Memory of that many bytes on `device` that someone else owns. `release`, which may be empty
  /// and must not throw, is called once, when the last handle is gone; on CUDA all that this device
  /// was asked for has been done by then. Where this throws it is not called. Such memory is not
  /// counted in MemoryStats.
  Storage(std::byte* data, std::size_t bytes, Device device, std::function<void()> release);

  [[nodiscard]] std::byte* data() const { return block_ ? block_->data : nullptr; }
  [[nodiscard]] std::size_t bytes() const { return block_ ? block_->bytes : 0; }
  [[nodiscard]] Device device() const { return block_ ? block_->device : Device{}; }
  /// Counts in-place changes, so that a derivative can tell that what it saved was overwritten.
  [[nodiscard]] std::uint64_t version() const { return block_ ? block_->version : 0; }
  void bump_version() const {
    if (block_) ++block_->version;
  }
  /// Whether nobody else sees these bytes: false of memory that someone else owns.
  [[nodiscard]] bool unique() const { return block_.use_count() == 1 && !block_->is_foreign; }
  friend bool operator==(const Storage&, const Storage&) = default;

 private:
  struct Block {
    Block(std::size_t size, Device where);
    Block(std::byte* memory, std::size_t size, Device where, std::function<void()> owner_release);
    ~Block();
    Block(const Block&) = delete;
    Block& operator=(const Block&) = delete;

    std::byte* data = nullptr;
    std::size_t bytes = 0;
    std::uint64_t version = 0;
    Device device;
    bool is_foreign = false;
    std::function<void()> release{};  ///< of foreign memory
  };
  std::shared_ptr<Block> block_;
};

/// A device has not what was asked for.
class OutOfMemory : public Error {
 public:
  struct Bytes {
    std::int64_t asked = 0;
    std::int64_t held = 0;   ///< in live storages
    std::int64_t total = 0;  ///< of the device; 0: unknown
  };
  OutOfMemory(Bytes bytes, const std::string& where);
  /// The same, with more to say.
  OutOfMemory(const OutOfMemory& cause, const std::string& more)
      : Error(cause.what() + more), bytes_(cause.bytes()) {}

  [[nodiscard]] const Bytes& bytes() const { return bytes_; }

 private:
  Bytes bytes_;
};

struct MemoryStats {
  std::int64_t current_bytes = 0;   ///< in live storages
  std::int64_t peak_bytes = 0;      ///< largest current_bytes since start or reset_peak_memory()
  std::int64_t reserved_bytes = 0;  ///< held from the system: live and cached for reuse
  std::int64_t allocations = 0;     ///< requests to the system, not to the cache
};
[[nodiscard]] MemoryStats memory_stats(Device device = {});
void reset_peak_memory(Device device = {});
/// What the system can still give, beside reserved_bytes. 0: not known.
[[nodiscard]] std::int64_t free_memory(Device device = {});
/// Gives cached blocks back to the system.
void release_cached_memory(Device device = {});

}  // namespace fovea
