// Runs CUDA kernels on the CPU: one fiber per thread, blocks one after another, barriers, shared
// memory and warp shuffles, for the very kernel sources of engine/cuda and of ops/*/*.cu. Threads
// take turns in a chosen order, so a result that depends on the order gives a race away.
//
// It stands in for <cuda_runtime.h> where FOVEA_EMULATE is defined, in an executable of its own.
#pragma once

#include <ucontext.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#define __global__
#define __device__
#define __shared__ static
#define __launch_bounds__(...)

namespace fovea::emulate {

struct Dim3 {
  unsigned x = 1, y = 1, z = 1;
  Dim3() = default;
  Dim3(unsigned x_, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}  // NOLINT
  [[nodiscard]] unsigned count() const { return x * y * z; }
};

enum class Order { forward, backward };

/// One block at a time.
class Machine {
 public:
  static constexpr unsigned kWarp = 32;

  static Machine& instance();

  Order order = Order::forward;
  Dim3 thread, block, block_size, grid_size;  ///< of the running fiber
  std::vector<unsigned char> shared;

  void run(Dim3 grid, Dim3 threads, std::size_t shared_bytes, const std::function<void()>& kernel);

  void wait_block();  ///< __syncthreads
  /// Exchanges one value of up to 8 bytes with the lane `source` of the same warp.
  std::uint64_t exchange(std::uint64_t value, unsigned source);
  [[nodiscard]] unsigned lane() const { return current_ % kWarp; }

 private:
  enum class State { ready, at_block_barrier, at_warp_barrier, done };
  struct Fiber {
    ucontext_t context{};
    std::vector<unsigned char> stack;
    State state = State::ready;
    unsigned exchanges = 0;  ///< counts warp operations, to alternate the slots
    std::uint64_t slots[2] = {};
  };

  void run_block();
  void resume(unsigned index);
  void yield(State state);
  bool release_waiting();
  [[noreturn]] void report_divergence() const;
  static void enter();

  std::vector<Fiber> fibers_;
  ucontext_t scheduler_{};
  const std::function<void()>* kernel_ = nullptr;
  unsigned current_ = 0, live_ = 0;
};

}  // namespace fovea::emulate

using dim3 = fovea::emulate::Dim3;

#define threadIdx (::fovea::emulate::Machine::instance().thread)
#define blockIdx (::fovea::emulate::Machine::instance().block)
#define blockDim (::fovea::emulate::Machine::instance().block_size)
#define gridDim (::fovea::emulate::Machine::instance().grid_size)

inline void __syncthreads() { fovea::emulate::Machine::instance().wait_block(); }

template <class T>
T __shfl_sync(unsigned, T value, int source) {
  static_assert(sizeof(T) <= 8);
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  bits = fovea::emulate::Machine::instance().exchange(bits, static_cast<unsigned>(source));
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lanes) {
  const unsigned source = fovea::emulate::Machine::instance().lane() ^ static_cast<unsigned>(lanes);
  return __shfl_sync(mask, value, static_cast<int>(source));
}

namespace fovea::cuda {

template <class... Params, class... Args>
void launch(void (*kernel)(Params...), dim3 grid, dim3 block, std::size_t shared_bytes,
            Args... args) {
  emulate::Machine::instance().run(grid, block, shared_bytes,
                                   [&] { kernel(static_cast<Params>(args)...); });
}

template <class T>
T* dynamic_shared() {
  return reinterpret_cast<T*>(emulate::Machine::instance().shared.data());
}

}  // namespace fovea::cuda
