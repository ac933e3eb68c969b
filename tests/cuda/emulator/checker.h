// Checks each memory access of a kernel: the byte must exist, be initialised and aligned, and a
// barrier must separate this thread from the one that accessed it before.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/cuda/emulator/memory.h"
#include "tests/cuda/emulator/order.h"

namespace fovea::emulate {

enum class Access : std::uint8_t { read, write, atomic };

class Checker {
 public:
  bool races = true;  ///< false: check only that the bytes exist

  void start_launch(int device);
  void start_block(std::uint64_t block, unsigned threads);
  [[nodiscard]] Order& order() { return order_; }

  /// Checks an access. Returns false on an error, which finding() describes.
  [[nodiscard]] bool accept(const Memory& memory, std::size_t offset, std::size_t bytes,
                            Access kind, unsigned thread);

  struct Finding {
    std::string what;        ///< "reads 4 bytes of shared memory at 12: ..."
    bool has_other = false;  ///< whether another thread is involved
    std::uint64_t other_block = 0;
    unsigned other_thread = 0;
  };
  [[nodiscard]] const Finding& finding() const { return finding_; }

 private:
  /// Location of an access.
  struct Place {
    const Memory& memory;
    std::size_t offset, bytes;
    Access kind;
    unsigned thread;
  };

  [[nodiscard]] bool exists(const Place& place);
  [[nodiscard]] bool accept_in_line(const Place& place, std::size_t first, std::size_t end);
  [[nodiscard]] bool is_ordered(const Place& place, Touch& touch);
  [[nodiscard]] bool after_writer(const Touch& touch, unsigned thread) const;
  [[nodiscard]] bool after_readers(const Touch& touch, unsigned thread) const;
  void note_reader(Touch& touch, unsigned thread) const;
  bool object(const Place& place, const std::string& why);
  bool object_to(const Place& place, const std::string& what, std::uint32_t run, unsigned thread);

  Order order_;
  const Memory& device_memory_ = DeviceMemory::instance().bytes();
  int device_ = 0;
  std::uint32_t run_ = 0;         ///< number of the running block, counted over all launches
  std::uint32_t launch_run_ = 1;  ///< first run of this launch
  /// Earlier accesses are ignored; for shared memory this block's run.
  std::uint32_t first_run_ = 1;
  std::vector<std::uint64_t> run_blocks_;  ///< block of each run of this launch
  Finding finding_;
};

}  // namespace fovea::emulate
