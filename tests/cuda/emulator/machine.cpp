// The scheduler: chooses the next thread, and suspends and resumes threads at barriers.
#include "tests/cuda/emulator/machine.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <numeric>

extern "C" char __executable_start, _end;  // from the linker: bounds of the program's own bytes

namespace fovea::emulate {
namespace {

constexpr std::size_t kSharedOfABlock = std::size_t{227} << 10;  ///< sm_90's; sm_80 has 163 KiB
constexpr std::size_t kSharedRedZone = 1024;

std::size_t footprint(std::size_t bytes) { return (bytes + 15) / 16 * 16 + 64; }

Dim3 position(std::uint64_t index, Dim3 size) {
  return {static_cast<unsigned>(index % size.x), static_cast<unsigned>(index / size.x % size.y),
          static_cast<unsigned>(index / size.x / size.y)};
}

std::string text(Dim3 at) {
  return "(" + std::to_string(at.x) + ", " + std::to_string(at.y) + ", " + std::to_string(at.z) +
         ")";
}

/// True for addresses in the program: constants and variables with static lifetime.
bool is_static(const void* address) { return address >= &__executable_start && address < &_end; }

/// A call from a kernel into the machine.
class Visit {
 public:
  Visit() : before_(running.in_kernel) { running.in_kernel = false; }
  ~Visit() { running.in_kernel = before_; }
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;

 private:
  bool before_;
};

/// Names of operations are mostly the same literal.
bool is_same(std::string_view a, std::string_view b) { return a.data() == b.data() || a == b; }

bool within(const void* address, const void* first, std::size_t bytes) {
  return reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(first) <
         bytes;
}

}  // namespace

Machine& Machine::instance() {
  static Machine& machine = *new Machine;
  return machine;
}

Machine::Machine() : shared_(kSharedOfABlock + kSharedRedZone) {
  if (const char* text = std::getenv("FOVEA_FAKE_ROUNDING")) {
    rounding = std::strtoull(text, nullptr, 10);
  }
  if (const char* text = std::getenv("FOVEA_FAKE_COMPUTE")) compute_capability = std::atoi(text);
}

void Machine::require_capability(std::string_view instruction, int at_least) {
  if (compute_capability >= at_least) return;
  fail("has no " + std::string(instruction) + " on a GPU of compute capability " +
       std::to_string(compute_capability));
}

std::string Machine::beyond_limits(const Launch& launch) const {
  const auto says = [](const std::string& got, const std::string& most) {
    return "launch with " + got + ", at most " + most + " are possible";
  };
  const auto [x, y, z] = launch.grid;
  if (launch.grid.count() == 0 || launch.block.count() == 0) return "launch without threads";
  if (launch.block.count() > 1024 || launch.block.z > 64)
    return says(std::to_string(launch.block.count()) + " threads a block", "1024");
  if (x > 0x7fffffff || y > 65535 || z > 65535)
    return says("a grid of " + text(launch.grid), "(2147483647, 65535, 65535)");
  constexpr std::size_t kMostArguments = 32764;  // since CUDA 12.1, on compute capability 7.0
  if (launch.argument_bytes > kMostArguments)
    return says(std::to_string(launch.argument_bytes) + " bytes of parameters",
                std::to_string(kMostArguments));
  if (launch.shared_bytes > launch.shared_limit)
    return says(std::to_string(launch.shared_bytes) + " bytes of shared memory",
                std::to_string(launch.shared_limit) + " without asking for more");
  return {};
}

std::string Machine::run(const Launch& launch) {
  finding_ = beyond_limits(launch);
  if (!finding_.empty()) return launch.kernel + ": " + finding_;
  launch_ = &launch;
  grid_size = launch.grid;
  block_size = launch.block;
  checker_.races = races;
  checker_.start_launch(launch.device);
  counter_.start_launch();
  positions_.resize(launch.block.count());
  for (std::size_t i = 0; i < positions_.size(); ++i) positions_[i] = position(i, block_size);
  random_.seed(seed);
  std::vector<std::uint32_t> order(launch.grid.count());
  std::iota(order.begin(), order.end(), 0u);
  std::shuffle(order.begin(), order.end(), random_);
  for (const std::uint32_t index : order) {
    run_block(index);
    if (!finding_.empty()) break;
  }
  launch_ = nullptr;
  kernels[launch.function] += counter_.counters();
  return finding_.empty() ? finding_ : launch.kernel + ": " + finding_;
}

void Machine::start_block(std::uint64_t index) {
  const auto count = static_cast<unsigned>(launch_->block.count());
  block_index_ = index;
  block = position(index, grid_size);
  threads_.assign(count, {});
  warps_.assign((count + kWarpSize - 1) / kWarpSize, {});
  for (Warp& warp : warps_) warp.alive = ~0u;
  if (count % kWarpSize != 0) warps_.back().alive = (1u << count % kWarpSize) - 1;
  at_block_ = done_ = 0;
  idle_fibers_.clear();
  for (const auto& fiber : fibers_) idle_fibers_.push_back(fiber.get());
  checker_.start_block(index, count);
  counter_.start_block();
  start_shared();
}

void Machine::run_block(std::uint64_t index) {
  start_block(index);
  const auto count = static_cast<unsigned>(threads_.size());
  std::vector<unsigned> warps(warps_.size());
  std::iota(warps.begin(), warps.end(), 0u);
  const auto is_runnable = [](const Warp& each) { return each.runnable() != 0; };
  while (done_ < count && finding_.empty()) {
    std::shuffle(warps.begin(), warps.end(), random_);
    for (const unsigned warp : warps) {
      if (finding_.empty()) run_warp(warp);
    }
    if (finding_.empty() && done_ < count &&
        std::none_of(warps_.begin(), warps_.end(), is_runnable)) {
      report_deadlock();
    }
  }
}

/// Places variables after the dynamic part, each followed by a gap.
void Machine::start_shared() {
  shared_.set(0, std::max(statics_end_, launch_->shared_bytes), ByteState::outside);
  shared_.set(0, launch_->shared_bytes, ByteState::undefined);
  std::memset(shared_.data(), 0xff, launch_->shared_bytes);  // NaN in every float format
  statics_.clear();
  statics_end_ = footprint(launch_->shared_bytes);
}

/// Runs each runnable lane until it waits, in any order.
void Machine::run_warp(unsigned warp) {
  const std::uint64_t draw = random_();
  const auto step = static_cast<unsigned>(draw | 1u), start = static_cast<unsigned>(draw >> 32);
  for (unsigned i = 0; i < kWarpSize && finding_.empty(); ++i) {
    const unsigned at = (start + i * step) % kWarpSize;  // each lane once: the step is odd
    if ((warps_[warp].runnable() >> at & 1u) != 0) resume(warp * kWarpSize + at);
  }
  if (counts) counter_.finish_warp();
}

void Machine::resume(unsigned index) {
  Thread& next = threads_[index];
  if (next.fiber == nullptr) {
    if (idle_fibers_.empty()) {
      fibers_.push_back(std::make_unique<Fiber>());
      idle_fibers_.push_back(fibers_.back().get());
    }
    next.fiber = idle_fibers_.back();
    idle_fibers_.pop_back();
    next.fiber->start(&Machine::enter);
  }
  current_ = index;
  thread = positions_[index];
  running.stack = next.fiber->stack();
  next.fiber->resume();
}

void Machine::suspend() {
  threads_[current_].fiber->suspend();
  running.in_kernel = false;
}

void Machine::enter() {
  Machine& machine = instance();
  machine.threads_[machine.current_].fiber->entered();
  running.in_kernel = true;
  machine.launch_->body(machine.launch_->parameters.get());
  running.in_kernel = false;
  machine.end_thread();
}

void Machine::end_thread() {
  Thread& self = threads_[current_];
  if (!self.copies.empty()) fail("ends with a copy into shared memory that was not waited for");
  ++done_;
  warps_[current_ / kWarpSize].alive &= ~(1u << lane());
  idle_fibers_.push_back(self.fiber);
  suspend();
}

/// Abandons the running thread permanently; destructors do not run in a kernel.
void Machine::fail(const std::string& what) {
  running.in_kernel = false;
  finding_ = name_of(current_, block_index_) + " " + what;
  suspend();
  __builtin_unreachable();
}

std::string Machine::name_of(unsigned index, std::uint64_t of_block) const {
  return "thread " + text(positions_[index]) + " of block " + text(position(of_block, grid_size));
}

unsigned Machine::lane() const { return current_ % kWarpSize; }
void* Machine::dynamic_shared() { return shared_.data(); }

void Machine::block_barrier() {
  const Visit visit;
  if (++at_block_ < threads_.size()) {
    warps_[current_ / kWarpSize].at_block |= 1u << lane();
  } else {
    release_block();  // any lane may continue first
  }
  suspend();
}

void Machine::release_block() {
  at_block_ = 0;
  checker_.order().block_barrier();
  for (Warp& warp : warps_) warp.at_block = 0;
}

void Machine::warp_barrier(std::uint32_t mask) {
  const Visit visit;
  wait_for_lanes("__syncwarp", mask, this, nullptr, true);
}

void Machine::meet(std::string_view operation, std::uint32_t mask, void* record, Compute compute) {
  const Visit visit;
  wait_for_lanes(operation, mask, record, compute, false);
}

void Machine::wait_for_lanes(std::string_view operation, std::uint32_t mask, void* record,
                             Compute compute, bool orders) {
  const unsigned first = current_ - lane();
  Warp& warp = warps_[current_ / kWarpSize];
  Thread& self = threads_[current_];
  self.operation = operation;
  self.mask = mask;
  self.record = record;
  if ((mask >> lane() & 1u) == 0) {
    fail("calls " + std::string(operation) + " with a mask that leaves it out");
  }
  const std::uint32_t waiting = warp.at_warp & mask;
  const bool joins = waiting == 0 || (waiting == warp.met && mask == warp.mask &&
                                      is_same(operation, warp.operation));
  if (!joins || (mask & ~warp.alive) != 0) check_lanes(operation, mask);
  warp.operation = operation;
  warp.mask = mask;
  warp.met = waiting | 1u << lane();
  if (warp.met != mask) {
    warp.at_warp |= 1u << lane();
    return suspend();
  }
  Records records{};
  Order::for_lanes(mask, [&](unsigned i) { records[i] = threads_[first + i].record; });
  if (compute != nullptr) compute(records);
  if (orders) checker_.order().warp_barrier(current_ / kWarpSize, mask);
  warp.at_warp &= ~mask;
  suspend();  // any lane may continue first
}

/// The other lanes of the mask can still come, and those that wait do so for the same operation.
void Machine::check_lanes(std::string_view operation, std::uint32_t mask) {
  const unsigned first = current_ - lane();
  const Warp& warp = warps_[current_ / kWarpSize];
  Order::for_lanes(mask & ~(1u << lane()), [&](unsigned i) {
    const auto waits = [&](const std::string& problem) {
      fail("waits in " + std::string(operation) + " for lane " + std::to_string(i) + problem);
    };
    if (first + i >= threads_.size()) waits(", which is not there");
    if ((warp.alive >> i & 1u) == 0) waits(", which has ended");
    const Thread& other = threads_[first + i];
    const bool is_there = (warp.at_warp >> i & 1u) != 0;
    if (is_there && (other.mask != mask || !is_same(other.operation, operation))) {
      waits(", which is in " + std::string(other.operation) + " with other lanes");
    }
  });
}

std::uint64_t Machine::exchange(std::uint32_t mask, std::uint64_t value, unsigned source) {
  const Visit visit;
  struct Offer {
    std::uint64_t value;
    unsigned source;
    std::uint64_t taken;
  } offer{value, source, 0};
  if ((mask >> source & 1u) == 0) {
    fail("shuffles with lane " + std::to_string(source) + ", which takes no part");
  }
  meet("a shuffle", mask, &offer, [](const Records& records) {
    for (void* const record : records) {
      if (record == nullptr) continue;
      auto& own = *static_cast<Offer*>(record);
      own.taken = static_cast<const Offer*>(records[own.source])->value;
    }
  });
  return offer.taken;
}

void Machine::report_deadlock() {
  int at_block = 0, at_warp = 0;
  for (const Warp& warp : warps_) {
    at_block += std::popcount(warp.at_block);
    at_warp += std::popcount(warp.at_warp);
  }
  finding_ = "threads wait for ever: in block " + text(block) + " " + std::to_string(at_block) +
             " at __syncthreads, " + std::to_string(at_warp) + " for lanes of their warp, and " +
             std::to_string(done_) + " have ended";
}

void* Machine::static_shared(const void* id, std::size_t bytes) {
  const Visit visit;
  const auto [found, is_new] = statics_.try_emplace(id, statics_end_);
  if (is_new) {
    statics_end_ += footprint(bytes);
    if (statics_end_ > launch_->shared_limit) {
      fail("has " + std::to_string(statics_end_) + " bytes of shared memory, at most " +
           std::to_string(launch_->shared_limit) + " are possible");
    }
    shared_.set(found->second, bytes, ByteState::undefined);
    std::memset(shared_.data() + found->second, 0xff, bytes);
  }
  return shared_.data() + found->second;
}

void Machine::copy_async(void* to, const void* from, std::size_t bytes, int existing) {
  const Visit visit;
  Thread& self = threads_[current_];
  require_capability("cp.async", 80);
  if (!shared_.holds(to)) fail("copies asynchronously to what is no shared memory");
  if (bytes != 4 && bytes != 8 && bytes != 16) {
    fail("copies " + std::to_string(bytes) + " bytes asynchronously, possible are 4, 8 and 16");
  }
  if (existing < 0 || static_cast<std::size_t>(existing) > bytes) {
    fail("copies " + std::to_string(existing) + " of " + std::to_string(bytes) + " bytes");
  }
  if (reinterpret_cast<std::uintptr_t>(from) % bytes != 0) {
    fail("copies " + std::to_string(bytes) + " bytes from an address not aligned to them");
  }
  const auto* const place = static_cast<const std::byte*>(__builtin_return_address(0));
  const auto count = static_cast<std::size_t>(existing);
  if (counts && count > 0) counter_.add(lane(), place, from, bytes, AccessCounter::Target::read);
  for (std::size_t i = 0; i < count; i += count == bytes ? bytes : 1) {
    check(static_cast<const std::byte*>(from) + i, count == bytes ? bytes : 1, Access::read);
  }
  access(to, bytes, Access::write, place + 1);  // its own place: lanes may have nothing to read
  shared_.set(shared_.offset_of(to), bytes, ByteState::pending);
  std::memset(to, 0xff, bytes);
  self.copies.push_back({to, from, bytes, count, self.groups});
}

void Machine::commit_copies() { ++threads_[current_].groups; }

void Machine::wait_copies(unsigned newer) {
  const Visit visit;
  Thread& self = threads_[current_];
  const auto is_awaited = [&](const Copy& copy) { return copy.group + newer < self.groups; };
  for (const Copy& copy : self.copies) {
    if (!is_awaited(copy)) continue;
    shared_.set(shared_.offset_of(copy.to), copy.bytes, ByteState::undefined);
    std::memset(copy.to, 0, copy.bytes);
    std::memcpy(copy.to, copy.from, copy.existing);
    check(copy.to, copy.bytes, Access::write);
  }
  std::erase_if(self.copies, is_awaited);
}

void Machine::access(const void* address, std::size_t bytes, Access kind, const void* place) {
  if (running.stack.holds(address)) return;
  const bool is_shared = shared_.holds(address);
  if (counts && (is_shared || device_.holds(address))) {
    const Visit visit;
    using Target = AccessCounter::Target;
    const Target target = is_shared              ? Target::shared
                          : kind == Access::read ? Target::read
                                                 : Target::written;
    counter_.add(lane(), place, address, bytes, target);
  }
  check(address, bytes, kind);
}

void Machine::check(const void* address, std::size_t bytes, Access kind) {
  const bool is_shared = shared_.holds(address);
  if (!is_shared && !device_.holds(address)) return check_host(address, bytes, kind);
  const Visit visit;
  const Memory& memory = is_shared ? shared_ : device_;
  if (checker_.accept(memory, memory.offset_of(address), bytes, kind, current_)) return;
  const Checker::Finding& finding = checker_.finding();
  fail(finding.what +
       (finding.has_other ? name_of(finding.other_thread, finding.other_block) : std::string()));
}

/// Checks an access to host memory beyond the thread's stack: a kernel may only read its parameters
/// and constants.
void Machine::check_host(const void* address, std::size_t bytes, Access kind) {
  const bool is_parameter = within(address, launch_->parameters.get(), launch_->parameter_bytes);
  if (kind == Access::read && (is_parameter || is_static(address))) return;
  const Visit visit;
  fail(std::string(kind == Access::read ? "reads " : "writes ") + std::to_string(bytes) +
       " bytes of the host's memory");
}

Dim3 thread_index() { return Machine::instance().thread; }
Dim3 block_index() { return Machine::instance().block; }
Dim3 block_size() { return Machine::instance().block_size; }
Dim3 grid_size() { return Machine::instance().grid_size; }

void load(void* to, const void* from, std::size_t bytes) {
  Machine::instance().access(from, bytes, Access::read, __builtin_return_address(0));
  std::memcpy(to, from, bytes);
}

void store(void* to, const void* from, std::size_t bytes) {
  Machine::instance().access(to, bytes, Access::write, __builtin_return_address(0));
  std::memcpy(to, from, bytes);
}

}  // namespace fovea::emulate
