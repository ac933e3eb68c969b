// Device memory with shadow state per byte: allowed accesses and the last access.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace fovea::emulate {

enum class ByteState : std::uint8_t {
  outside,    ///< not part of an allocation
  undefined,  ///< allocated, but never written
  valid,
  pending,  ///< target of an asynchronous copy that has not completed
  freed,
};

/// Last accesses of a byte within one launch. A `run` identifies a block of a launch by counting
/// all blocks that were ever run. 0: none.
struct Touch {
  std::uint32_t writer_run = 0, writer_clock = 0;
  std::uint32_t reader_run = 0, reader_clock = 0;
  std::uint32_t reader_lanes = 0;  ///< lanes of its warp
  std::uint16_t writer = 0;        ///< thread of its block
  std::uint8_t reader_warp = 0;
  bool many_warps = false;   ///< read by several warps; reader_clock counts barriers
  bool many_blocks = false;  ///< read by several blocks
  bool is_atomic = false;    ///< the last write was atomic
  bool operator==(const Touch&) const = default;
};

/// Address space with a state and a Touch per byte. Uses memory only for accessed parts.
class Memory {
 public:
  explicit Memory(std::size_t bytes);
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory();

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] bool holds(const void* address) const { return offset_of(address) < size_; }
  [[nodiscard]] std::size_t offset_of(const void* address) const {
    return reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(data_);
  }
  [[nodiscard]] ByteState& state(std::size_t offset) const { return states_[offset]; }
  [[nodiscard]] Touch& touch(std::size_t offset) const { return touches_[offset]; }

  void set(std::size_t offset, std::size_t bytes, ByteState state) const;
  /// The first byte of the range in another state; `bytes` if there is none.
  [[nodiscard]] std::size_t first_not(ByteState state, std::size_t offset, std::size_t bytes) const;

 private:
  std::size_t size_;
  std::byte* data_;
  ByteState* states_;
  Touch* touches_;
};

/// The memory of all fake devices. Allocations are separated by gaps; freed memory contains 0xDD
/// and is reused as late as possible.
class DeviceMemory {
 public:
  static DeviceMemory& instance();

  [[nodiscard]] const Memory& bytes() const { return memory_; }
  [[nodiscard]] int device_of(const void* address) const;
  /// Null if the device has too little memory left.
  [[nodiscard]] void* allocate(std::size_t bytes, int device);
  /// Returns false if no allocation starts there.
  [[nodiscard]] bool free(void* data);
  [[nodiscard]] std::size_t available(int device) const;
  [[nodiscard]] std::size_t allocations() const { return live_.size(); }
  /// "at byte 12 of an allocation of 40 bytes".
  [[nodiscard]] std::string place_of(std::size_t offset) const;

  static constexpr int kDevices = 4;
  static constexpr std::size_t kPerDevice = std::size_t{8} << 30;
  std::size_t limit = kPerDevice;  ///< memory per device; also FOVEA_FAKE_MEMORY=BYTES

 private:
  DeviceMemory();

  Memory memory_;
  std::map<std::size_t, std::size_t> live_;  ///< offset to size
  std::size_t used_[kDevices] = {};
  std::size_t cursor_[kDevices] = {};  ///< end of each device's last allocation
};

}  // namespace fovea::emulate
