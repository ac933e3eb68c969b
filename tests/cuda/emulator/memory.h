// Device memory with shadow state per byte: allowed accesses and the last access.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
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

/// Last accesses of some bytes within one launch. A `run` identifies a block of a launch by
/// counting all blocks that were ever run. 0: none.
struct Touch {
  std::uint32_t writer_run = 0, writer_clock = 0;
  std::uint32_t reader_run = 0, reader_clock = 0;
  std::uint32_t reader_lanes = 0;  ///< lanes of its warp
  std::uint16_t writer = 0;        ///< thread of its block
  std::uint8_t reader_warp = 0;
  bool many_warps : 1 = false;   ///< read by several warps; reader_clock counts barriers
  bool many_blocks : 1 = false;  ///< read by several blocks
  bool is_atomic : 1 = false;    ///< the last write was atomic
};

/// Eight bytes at a multiple of eight. A number is accessed as a whole, so that one touch describes
/// all its bytes.
struct Line {
  static constexpr std::size_t kBytes = 8;

  std::uint32_t run = 0;   ///< run of the last access to any of the bytes
  std::uint32_t unit = 0;  ///< bytes described by one touch, that of the first: 1, 2, 4 or 8
  Touch touch;             ///< of the first bytes
};

/// Address space with a state and a touch per byte. Uses memory only for accessed parts.
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
  [[nodiscard]] Line& line(std::size_t offset) const { return lines_[offset / Line::kBytes]; }
  /// The touch of this byte and the others of its unit, of which it is the first.
  [[nodiscard]] Touch& touch(std::size_t offset) const {
    if (offset % 8 == 0) return lines_[offset / 8].touch;
    if (offset % 4 == 0) return fourths_[offset / 8];
    return offset % 2 == 0 ? seconds_[offset / 4] : odd_[offset / 2];
  }

  void set(std::size_t offset, std::size_t bytes, ByteState state) const;
  /// The first byte of the range in another state; `bytes` if there is none.
  [[nodiscard]] std::size_t first_not(ByteState state, std::size_t offset, std::size_t bytes) const;
  /// True if all bytes of the range are valid; for the sizes of numbers one comparison.
  [[nodiscard]] bool is_valid(std::size_t offset, std::size_t bytes) const {
    if (bytes == 4) return are_valid<std::uint32_t>(offset);
    if (bytes == 8) return are_valid<std::uint64_t>(offset);
    if (bytes == 2) return are_valid<std::uint16_t>(offset);
    if (bytes == 16)
      return are_valid<std::uint64_t>(offset) && are_valid<std::uint64_t>(offset + 8);
    return first_not(ByteState::valid, offset, bytes) == bytes;
  }

 private:
  template <class Word>
  [[nodiscard]] bool are_valid(std::size_t offset) const {
    constexpr Word kValid = Word(~Word{0}) / 0xff * static_cast<Word>(ByteState::valid);
    Word states;
    std::memcpy(&states, states_ + offset, sizeof states);
    return states == kValid;
  }

  std::size_t size_;
  std::byte* data_;
  ByteState* states_;
  // Touches of bytes that are seldom the first of a unit lie apart, so that fewer pages are in use.
  Line* lines_;
  Touch *fourths_, *seconds_, *odd_;
};

/// The memory of all fake devices. Allocations are separated by gaps; freed memory contains 0xDD
/// and is reused as late as possible.
class DeviceMemory {
 public:
  static DeviceMemory& instance();

  [[nodiscard]] const Memory& bytes() const { return memory_; }
  [[nodiscard]] int device_of(const void* address) const;
  /// True if this byte of bytes() belongs to the device.
  [[nodiscard]] static bool is_of(int device, std::size_t offset) {
    return offset / kPerDevice == static_cast<std::size_t>(device);
  }
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
