// The scheduler of the emulator.
#include "tests/cuda/emulator.h"

namespace fovea::emulate {

Machine& Machine::instance() {
  static Machine machine;
  return machine;
}

void Machine::run(Dim3 grid, Dim3 threads, std::size_t shared_bytes,
                  const std::function<void()>& kernel) {
  constexpr std::size_t kStack = 64 * 1024;
  if (threads.count() == 0 || threads.count() > 1024) {
    throw std::runtime_error("launch: got " + std::to_string(threads.count()) +
                             " threads per block, expected 1 to 1024");
  }
  kernel_ = &kernel;
  grid_size = grid;
  block_size = threads;
  fibers_.resize(threads.count());
  for (Fiber& fiber : fibers_) fiber.stack.resize(kStack);
  for (unsigned z = 0; z < grid.z; ++z) {
    for (unsigned y = 0; y < grid.y; ++y) {
      for (unsigned x = 0; x < grid.x; ++x) {
        block = Dim3(x, y, z);
        shared.assign(shared_bytes, 0xff);  // NaNs: what nobody wrote must not be read
        run_block();
      }
    }
  }
}

void Machine::run_block() {
  const auto count = static_cast<unsigned>(fibers_.size());
  live_ = count;
  for (Fiber& fiber : fibers_) {
    fiber.state = State::ready;
    fiber.exchanges = 0;
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.data();
    fiber.context.uc_stack.ss_size = fiber.stack.size();
    fiber.context.uc_link = &scheduler_;
    makecontext(&fiber.context, &Machine::enter, 0);
  }
  while (live_ > 0) {
    bool progress = false;
    for (unsigned i = 0; i < count; ++i) {
      const unsigned index = order == Order::forward ? i : count - 1 - i;
      if (fibers_[index].state != State::ready) continue;
      resume(index);
      progress = true;
    }
    progress |= release_waiting();
    if (!progress) report_divergence();
  }
}

void Machine::resume(unsigned index) {
  current_ = index;
  thread = Dim3(index % block_size.x, index / block_size.x % block_size.y,
                index / (block_size.x * block_size.y));
  swapcontext(&scheduler_, &fibers_[index].context);
}

void Machine::enter() {
  Machine& machine = instance();
  (*machine.kernel_)();
  machine.fibers_[machine.current_].state = State::done;
  --machine.live_;
}

void Machine::yield(State state) {
  Fiber& fiber = fibers_[current_];
  fiber.state = state;
  swapcontext(&fiber.context, &scheduler_);
}

void Machine::wait_block() { yield(State::at_block_barrier); }

std::uint64_t Machine::exchange(std::uint64_t value, unsigned source) {
  const unsigned first = current_ / kWarp * kWarp;
  Fiber& fiber = fibers_[current_];
  const unsigned slot = fiber.exchanges++ % 2;
  fiber.slots[slot] = value;
  yield(State::at_warp_barrier);
  const unsigned peer = first + source % kWarp;
  return peer < fibers_.size() ? fibers_[peer].slots[slot] : value;
}

bool Machine::release_waiting() {
  bool released = false;
  const auto count = static_cast<unsigned>(fibers_.size());
  unsigned at_barrier = 0;
  for (const Fiber& fiber : fibers_) at_barrier += fiber.state == State::at_block_barrier;
  if (at_barrier == count) {
    for (Fiber& fiber : fibers_) fiber.state = State::ready;
    return true;
  }
  for (unsigned first = 0; first < count; first += kWarp) {
    const unsigned last = first + kWarp < count ? first + kWarp : count;
    unsigned waiting = 0;
    for (unsigned i = first; i < last; ++i) {
      waiting += fibers_[i].state == State::at_warp_barrier;
    }
    if (waiting != last - first) continue;
    for (unsigned i = first; i < last; ++i) fibers_[i].state = State::ready;
    released = true;
  }
  return released;
}

void Machine::report_divergence() const {
  unsigned done = 0, block_barrier = 0, warp_barrier = 0;
  for (const Fiber& fiber : fibers_) {
    done += fiber.state == State::done;
    block_barrier += fiber.state == State::at_block_barrier;
    warp_barrier += fiber.state == State::at_warp_barrier;
  }
  throw std::runtime_error("divergence: " + std::to_string(block_barrier) +
                           " threads wait at __syncthreads, " + std::to_string(warp_barrier) +
                           " in a warp shuffle, " + std::to_string(done) + " have ended");
}

}  // namespace fovea::emulate
