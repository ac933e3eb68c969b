// Race detection: the last writer and readers of each byte, and the accesses allowed after them.
#include "tests/cuda/emulator/checker.h"

#include <algorithm>

namespace fovea::emulate {
namespace {

const char* verb(Access kind) {
  return kind == Access::read ? "reads " : kind == Access::write ? "writes " : "updates ";
}

std::string place_name(const Memory& memory, std::size_t offset) {
  const DeviceMemory& device = DeviceMemory::instance();
  if (&memory == &device.bytes()) return device.place_of(offset);
  return "at byte " + std::to_string(offset) + " of shared memory";
}

bool is_aligned(const std::byte* address, std::size_t bytes) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  const bool is_power_of_two = (bytes & (bytes - 1)) == 0;  // a division takes longer
  return (is_power_of_two ? at & (bytes - 1) : at % bytes) == 0;
}

/// Describes the same accesses of a line by touches of fewer bytes.
void split(const Memory& memory, std::size_t offset, std::uint32_t unit) {
  Line& line = memory.line(offset);
  const std::size_t first = offset / Line::kBytes * Line::kBytes;
  for (std::size_t i = unit; i < Line::kBytes; i += unit) {
    const std::size_t old = i / line.unit * line.unit;
    if (i != old) memory.touch(first + i) = memory.touch(first + old);
  }
  line.unit = unit;
}

}  // namespace

void Checker::start_launch(int device) {
  device_ = device;
  launch_run_ = run_ + 1;
  run_blocks_.clear();
}

void Checker::start_block(std::uint64_t block, unsigned threads) {
  ++run_;
  run_blocks_.push_back(block);
  order_.start_block(threads);
}

bool Checker::object(const Place& place, const std::string& why) {
  finding_ = {verb(place.kind) + std::to_string(place.bytes) + " bytes " +
                  place_name(place.memory, place.offset) + why,
              false, 0, 0};
  return false;
}

bool Checker::object_to(const Place& place, const std::string& what, std::uint32_t run,
                        unsigned thread) {
  object(place, what);
  finding_.has_other = true;
  finding_.other_block = run_blocks_[run - launch_run_];
  finding_.other_thread = thread;
  return false;
}

bool Checker::accept(const Memory& memory, std::size_t offset, std::size_t bytes, Access kind,
                     unsigned thread) {
  const Place place{memory, offset, bytes, kind, thread};
  first_run_ = &memory == &device_memory_ ? launch_run_ : run_;
  if (bytes <= 16 && !is_aligned(memory.data() + offset, bytes)) {
    return object(place, ": not aligned to its size");
  }
  const bool was_valid = memory.is_valid(offset, bytes);
  if (!was_valid && !exists(place)) return false;
  if (&memory == &device_memory_ && !DeviceMemory::is_of(device_, offset)) {
    return object(place, ": memory of another device");
  }
  const std::size_t end = offset + bytes;
  for (std::size_t first = offset; first < end && races;) {
    const std::size_t next = std::min(end, (first / Line::kBytes + 1) * Line::kBytes);
    if (!accept_in_line(place, first, next)) return false;
    first = next;
  }
  if (was_valid || (!races && kind == Access::read)) return true;
  if (races && kind != Access::write) return object(place, ", which nobody has written");
  memory.set(offset, bytes, ByteState::valid);
  return true;
}

bool Checker::exists(const Place& place) {
  for (std::size_t i = 0; i < place.bytes; ++i) {
    switch (place.memory.state(place.offset + i)) {
      case ByteState::outside:
        return object(place, ": out of bounds");
      case ByteState::freed:
        return object(place, ", which was freed");
      case ByteState::pending:
        return object(place, ", to which a copy goes on that was not waited for");
      default:
        break;
    }
  }
  return true;
}

/// For bytes of one line.
bool Checker::accept_in_line(const Place& place, std::size_t first, std::size_t end) {
  Line& line = place.memory.line(first);
  const std::size_t sizes = first | end | Line::kBytes;
  const auto unit = static_cast<std::uint32_t>(sizes & -sizes);
  if (line.run < first_run_) {
    line.unit = unit;
    for (std::size_t i = 0; i < Line::kBytes; i += unit) {
      place.memory.touch(first / Line::kBytes * Line::kBytes + i) = {};
    }
  } else if (unit < line.unit) {
    split(place.memory, first, unit);
  }
  line.run = run_;
  for (std::size_t at = first; at < end; at += line.unit) {
    if (!is_ordered(place, place.memory.touch(at))) return false;
  }
  return true;
}

bool Checker::after_writer(const Touch& touch, unsigned thread) const {
  if (touch.writer_run < first_run_) return true;
  return touch.writer_run == run_ && order_.is_after(thread, touch.writer, touch.writer_clock);
}

bool Checker::after_readers(const Touch& touch, unsigned thread) const {
  if (touch.reader_run < first_run_) return true;
  if (touch.reader_run != run_ || touch.many_blocks) return false;
  if (touch.many_warps) return touch.reader_clock < order_.barriers();
  for (std::uint32_t lanes = touch.reader_lanes; lanes != 0; lanes &= lanes - 1) {
    const unsigned lane = static_cast<unsigned>(__builtin_ctz(lanes));
    const unsigned reader = touch.reader_warp * kWarpSize + lane;
    if (!order_.is_after(thread, reader, touch.reader_clock)) return false;
  }
  return true;
}

/// Readers of one warp are recorded individually, with the latest of their clocks; readers of
/// several warps are distinguished from later ones by the number of barriers.
void Checker::note_reader(Touch& touch, unsigned thread) const {
  const unsigned warp = thread / kWarpSize;
  const bool same_launch = touch.reader_run >= first_run_;
  if (same_launch && (touch.many_blocks || touch.reader_run != run_)) {
    touch.many_blocks = true;
    touch.reader_run = run_;
    return;
  }
  const bool forgets = !same_launch || after_readers(touch, thread);
  if (forgets) {
    touch.many_blocks = touch.many_warps = false;
    touch.reader_lanes = 0;
    touch.reader_clock = 0;
  } else if (touch.many_warps || touch.reader_warp != warp) {
    touch.many_warps = true;
    touch.reader_clock = order_.barriers();
    return;
  }
  touch.reader_run = run_;
  touch.reader_warp = static_cast<std::uint8_t>(warp);
  touch.reader_lanes |= 1u << (thread % kWarpSize);
  touch.reader_clock = std::max(touch.reader_clock, order_.clock(thread));
}

bool Checker::is_ordered(const Place& place, Touch& touch) {
  const bool both_atomic = place.kind == Access::atomic && touch.is_atomic;
  if (!both_atomic && !after_writer(touch, place.thread)) {
    return object_to(place, ", and no barrier lies between this and its writing by ",
                     touch.writer_run, touch.writer);
  }
  if (place.kind == Access::read) {
    note_reader(touch, place.thread);
    return true;
  }
  if (!after_readers(touch, place.thread)) {
    const auto lane = static_cast<unsigned>(__builtin_ctz(touch.reader_lanes));
    return object_to(place, ", and no barrier lies between this and its reading by ",
                     touch.reader_run, touch.reader_warp * kWarpSize + lane);
  }
  touch.writer_run = run_;
  touch.writer = static_cast<std::uint16_t>(place.thread);
  touch.writer_clock = order_.clock(place.thread);
  touch.is_atomic = place.kind == Access::atomic;
  touch.reader_run = 0;
  return true;
}

}  // namespace fovea::emulate
