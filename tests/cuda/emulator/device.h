// CUDA C++'s device language, for sources that are compiled as C++ with FOVEA_EMULATE.
#pragma once

#include <cstdint>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>

#include "engine/dtype.h"
#include "tests/cuda/emulator/machine.h"
#include "tests/cuda/emulator/tensor_core.h"

// GCC's instrumentation leaves out the store of a structure, such as a bf16, that a call returns
// into memory. So a kernel makes no such calls: all are inlined into it.
#define __global__ __attribute__((flatten))
#define __device__
#define __launch_bounds__(...)
#define __grid_constant__

#define threadIdx (::fovea::emulate::thread_index())
#define blockIdx (::fovea::emulate::block_index())
#define blockDim (::fovea::emulate::block_size())
#define gridDim (::fovea::emulate::grid_size())

inline void __syncthreads() { fovea::emulate::Machine::instance().block_barrier(); }
inline void __syncwarp(std::uint32_t mask = 0xffffffffu) {
  fovea::emulate::Machine::instance().warp_barrier(mask);
}

namespace fovea::emulate {

template <class T>
[[nodiscard]] T exchange(std::uint32_t mask, T value, unsigned source) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8);
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  bits = Machine::instance().exchange(mask, bits, source);
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

}  // namespace fovea::emulate

template <class T>
T __shfl_sync(std::uint32_t mask, T value, int source) {
  return fovea::emulate::exchange(mask, value, static_cast<unsigned>(source) % 32);
}
template <class T>
T __shfl_xor_sync(std::uint32_t mask, T value, int lanes) {
  const unsigned lane = fovea::emulate::Machine::instance().lane();
  return fovea::emulate::exchange(mask, value, lane ^ static_cast<unsigned>(lanes));
}
template <class T>
T __shfl_down_sync(std::uint32_t mask, T value, unsigned lanes) {
  const unsigned source = fovea::emulate::Machine::instance().lane() + lanes;
  return fovea::emulate::exchange(mask, value, source < 32 ? source : source - lanes);
}

namespace fovea::emulate {

/// For integers only: float sums must not depend on the order of threads.
template <class T, class Change>
__attribute__((no_sanitize("thread"))) T atomic_update(T* address, Change change) {
  static_assert(std::is_integral_v<T>);
  Machine::instance().access(address, sizeof(T), Access::atomic, __builtin_return_address(0));
  const T before = *address;
  *address = change(before);
  return before;
}

}  // namespace fovea::emulate

template <class T>
T atomicAdd(T* address, std::type_identity_t<T> value) {
  return fovea::emulate::atomic_update(address, [value](T before) { return before + value; });
}
template <class T>
T atomicAnd(T* address, std::type_identity_t<T> value) {
  return fovea::emulate::atomic_update(address, [value](T before) { return before & value; });
}

namespace fovea::cuda {

/// The dynamic shared memory of the block.
template <class T>
T* dynamic_shared() {
  return static_cast<T*>(emulate::Machine::instance().dynamic_shared());
}

inline void mma_bf16(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) {
  emulate::mma(emulate::Mma::bf16, d, a, b);
}
inline void mma_tf32(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) {
  emulate::mma(emulate::Mma::tf32, d, a, b);
}
inline void load_matrices(std::uint32_t (&words)[4], const void* row) {
  emulate::load_matrices(words, row, false);
}
inline void load_matrices_transposed(std::uint32_t (&words)[4], const void* row) {
  emulate::load_matrices(words, row, true);
}

template <int Bytes>
void copy_async(void* shared, const void* global, int existing) {
  emulate::Machine::instance().copy_async(shared, global, Bytes, existing);
}
inline void commit_copies() { emulate::Machine::instance().commit_copies(); }
template <int Newer>
void wait_copies() {
  emulate::Machine::instance().wait_copies(Newer);
}

inline std::uint32_t pack_bf16(float low, float high) {
  return bf16(low).bits | static_cast<std::uint32_t>(bf16(high).bits) << 16;
}
inline std::uint32_t round_to_tf32(float x) { return emulate::round_to_tf32(x); }
inline float approximate_exp2(float x) { return emulate::approximate_exp2(x); }
inline float exponential(float x) { return emulate::exponential(x); }

/// Shared memory of the block for N values of T, one array per Tag.
template <class T, int N, class Tag>
T* static_shared() {
  static const char id = 0;
  return static_cast<T*>(emulate::Machine::instance().static_shared(&id, N * sizeof(T)));
}

}  // namespace fovea::cuda
