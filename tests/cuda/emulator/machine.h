// Runs CUDA kernels on the CPU, more strictly than hardware: blocks run one after another in any
// order, the warps of a block and the lanes of a warp in any order between two synchronisation
// points, and a Checker examines every memory access.
//
// Kernels are compiled with the calls that -fsanitize=thread inserts before each access; access.cpp
// implements those calls instead of ThreadSanitizer. A detected error ends the launch.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tests/cuda/emulator/checker.h"
#include "tests/cuda/emulator/counters.h"
#include "tests/cuda/emulator/fiber.h"

namespace fovea::emulate {

struct Dim3 {
  unsigned x = 1, y = 1, z = 1;
  Dim3() = default;
  Dim3(unsigned x_, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}  // NOLINT
  [[nodiscard]] std::uint64_t count() const { return std::uint64_t{x} * y * z; }
};

struct Launch {
  std::string kernel;              ///< a name for messages
  const void* function = nullptr;  ///< address of the kernel
  Dim3 grid, block;
  std::size_t shared_bytes = 0;
  std::size_t shared_limit = std::size_t{48} << 10;  ///< larger if the kernel requested it
  void (*body)(const void* parameters) = nullptr;    ///< code of one thread
  std::shared_ptr<const void> parameters;
  std::size_t parameter_bytes = 0;
  std::size_t argument_bytes = 0;  ///< the part of it that the kernel is given
  int device = 0;
};

/// What this host thread executes.
struct Running {
  /// True in a kernel's own code, with checked accesses. Other threads, and the machine itself, may
  /// run the same instrumented inline functions at that time.
  bool in_kernel = false;
  FiberStack stack;  ///< of the kernel's thread
};
inline constinit thread_local Running running;

class Machine {
 public:
  /// Records of the lanes that meet at one operation; null for the other lanes.
  using Records = std::array<void*, kWarpSize>;
  using Compute = void (*)(const Records& records);

  static Machine& instance();

  std::uint64_t seed = 1;  ///< seed for the order of blocks, warps and lanes
  /// 0: tensor cores and approximate functions give the nearest value. Otherwise they err as far as
  /// hardware may (tensor_core.h), in directions drawn from this seed.
  std::uint64_t rounding = 0;   ///< also FOVEA_FAKE_ROUNDING
  int compute_capability = 80;  ///< an A100's; also FOVEA_FAKE_COMPUTE
  bool races = true;            ///< detect races and uninitialised bytes; bounds are always checked
  bool counts = false;          ///< fill counters() and those of `kernels`
  std::map<const void*, Counters> kernels;  ///< counters of all kernels that have run, by address

  /// Runs a launch. Returns a description of the error, or "".
  [[nodiscard]] std::string run(const Launch& launch);
  /// Counters of the last run.
  [[nodiscard]] const Counters& counters() const { return counter_.counters(); }

  // The following members are for kernels.
  Dim3 thread, block, block_size, grid_size;  ///< values for the running thread
  [[nodiscard]] bool is_running() const { return launch_ != nullptr; }
  [[nodiscard]] unsigned lane() const;

  void block_barrier();
  void warp_barrier(std::uint32_t mask);
  /// Synchronises the lanes of `mask`, each with a record. The last lane computes for all.
  void meet(std::string_view operation, std::uint32_t mask, void* record, Compute compute);

  /// A shuffle: the value of lane `source`, which must participate.
  [[nodiscard]] std::uint64_t exchange(std::uint32_t mask, std::uint64_t value, unsigned source);

  [[nodiscard]] bool is_shared(const void* address) const { return shared_.holds(address); }
  [[nodiscard]] void* dynamic_shared();
  /// The block's copy of the `__shared__` variable `id`, whose own address belongs to no block.
  [[nodiscard]] void* static_shared(const void* id, std::size_t bytes);

  /// Starts a copy into shared memory of `bytes`, zero from `existing` on. They may be accessed
  /// only after wait_copies().
  void copy_async(void* to, const void* from, std::size_t bytes, int existing);
  void commit_copies();
  /// Waits until at most `newer` groups of copies are pending.
  void wait_copies(unsigned newer);

  void access(const void* address, std::size_t bytes, Access kind, const void* place);
  /// Fails on a GPU older than the instruction.
  void require_capability(std::string_view instruction, int at_least);
  void count_mma(bool is_tf32) { counter_.add_mma(is_tf32); }
  void count_exponential() { counter_.add_exponential(); }
  [[noreturn]] void fail(const std::string& what);

 private:
  struct Copy {
    void* to;
    const void* from;
    std::size_t bytes, existing;
    unsigned group;
  };
  struct Thread {
    Fiber* fiber = nullptr;      ///< null before its start
    std::string_view operation;  ///< where it waits for other lanes, and for which
    std::uint32_t mask = 0;
    void* record = nullptr;
    std::vector<Copy> copies;
    unsigned groups = 0;  ///< committed groups of copies
  };
  /// Lanes of a warp by state.
  struct Warp {
    std::uint32_t alive = 0;                  ///< have not ended
    std::uint32_t at_block = 0, at_warp = 0;  ///< wait
    /// The operation that a lane last came to, and the lanes that wait there for each other.
    std::string_view operation;
    std::uint32_t mask = 0, met = 0;
    [[nodiscard]] std::uint32_t runnable() const { return alive & ~(at_block | at_warp); }
  };

  Machine();
  [[nodiscard]] std::string beyond_limits(const Launch& launch) const;
  void start_block(std::uint64_t index);
  void run_block(std::uint64_t index);
  void run_warp(unsigned warp);
  void resume(unsigned index);
  void suspend();
  void end_thread();
  static void enter();
  void release_block();
  void wait_for_lanes(std::string_view operation, std::uint32_t mask, void* record, Compute compute,
                      bool orders);
  void check_lanes(std::string_view operation, std::uint32_t mask);
  void check(const void* address, std::size_t bytes, Access kind);
  void check_host(const void* address, std::size_t bytes, Access kind);
  void report_deadlock();
  void start_shared();
  [[nodiscard]] std::string name_of(unsigned thread, std::uint64_t block) const;

  const Memory& device_ = DeviceMemory::instance().bytes();
  Memory shared_;
  Checker checker_;
  AccessCounter counter_;
  const Launch* launch_ = nullptr;
  std::string finding_;
  std::vector<Thread> threads_;
  std::vector<Warp> warps_;
  std::vector<Dim3> positions_;  ///< of the threads of a block
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> idle_fibers_;
  std::uint64_t block_index_ = 0;
  unsigned current_ = 0, at_block_ = 0, done_ = 0;
  std::map<const void*, std::size_t> statics_;  ///< offsets in shared memory
  std::size_t statics_end_ = 0;
  std::mt19937_64 random_;
};

/// The machine's values for the running thread. Kernels get them by value, because the compiler
/// instruments an access to the machine.
[[nodiscard]] Dim3 thread_index();
[[nodiscard]] Dim3 block_index();
[[nodiscard]] Dim3 block_size();
[[nodiscard]] Dim3 grid_size();

/// One access by a kernel, not optimised by a compiler.
void load(void* to, const void* from, std::size_t bytes);
void store(void* to, const void* from, std::size_t bytes);

}  // namespace fovea::emulate
