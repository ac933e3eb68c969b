// Device memory with shadow state per byte: allowed accesses and the last access.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace fovea::emulate {

enum class ByteState : std::uint8_t {
  outside,    ///< of no allocation
  undefined,  ///< allocated, but nobody wrote it
  valid,
  pending,  ///< an asynchronous copy into it has not been waited for
  freed,
};

/// Who touched a byte last, within one launch. A `run` counts the blocks that were ever run: it
/// says which block of which launch it was. 0: nobody.
struct Touch {
  std::uint32_t writer_run = 0, writer_clock = 0;
  std::uint32_t reader_run = 0, reader_clock = 0;
  std::uint32_t reader_lanes = 0;  ///< of its warp
  std::uint16_t writer = 0;        ///< thread of its block
  std::uint8_t reader_warp = 0;
  bool many_warps = false;   ///< readers of several warps; reader_clock counts barriers
  bool many_blocks = false;  ///< readers of several blocks
  bool is_atomic = false;    ///< the write was
};

/// Address space with a state and a Touch for every byte. Costs memory only where it is used.
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

/// The memory of all fake devices. Allocations stand apart, so that what lies beside one is of
/// none; freed memory holds 0xDD and is given out again as late as can be.
class DeviceMemory {
 public:
  static DeviceMemory& instance();

  [[nodiscard]] const Memory& bytes() const { return memory_; }
  [[nodiscard]] int device_of(const void* address) const;
  /// Null where the device has not that much left.
  [[nodiscard]] void* allocate(std::size_t bytes, int device);
  /// False: no allocation starts there.
  [[nodiscard]] bool free(void* data);
  [[nodiscard]] std::size_t available(int device) const;
  [[nodiscard]] std::size_t allocations() const { return live_.size(); }
  /// "at byte 12 of an allocation of 40 bytes".
  [[nodiscard]] std::string place_of(std::size_t offset) const;

  static constexpr int kDevices = 4;
  static constexpr std::size_t kPerDevice = std::size_t{8} << 30;
  std::size_t limit = kPerDevice;  ///< what a device has of it; also FOVEA_FAKE_MEMORY=BYTES

 private:
  DeviceMemory();

  Memory memory_;
  std::map<std::size_t, std::size_t> live_;  ///< offset to size
  std::size_t used_[kDevices] = {};
  std::size_t cursor_[kDevices] = {};  ///< where the last allocation of a device ended
};

}  // namespace fovea::emulate
