// Adjacent elements that a thread reads, computes and writes together.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <type_traits>

#include "engine/cuda/launch.cuh"
#include "engine/device.h"

namespace fovea::cuda {

/// N adjacent elements; for N > 1 each access moves 16 bytes.
template <int N, class T>
struct Items {
  T v[N];

  __device__ static Items load(const T* from) {
    using Pack = cuda::Pack<T>;
    Items items;
    if constexpr (N == 1) {
      items.v[0] = *from;
    } else {
      static_assert(N % Pack::kSize == 0);
      for (int i = 0; i < N; i += Pack::kSize) {
        const Pack pack = load_pack(from + i);
        for (int j = 0; j < Pack::kSize; ++j) items.v[i + j] = pack.v[j];
      }
    }
    return items;
  }
  __device__ void store(T* to) const {
    using Pack = cuda::Pack<T>;
    if constexpr (N == 1) {
      *to = v[0];
    } else {
      for (int i = 0; i < N; i += Pack::kSize) {
        Pack pack;
        for (int j = 0; j < Pack::kSize; ++j) pack.v[j] = v[i + j];
        store_pack(to + i, pack);
      }
    }
  }
};

/// Whether all pointers that are not null allow accesses of 16 bytes.
FOVEA_HD inline bool are_aligned(std::initializer_list<const void*> pointers) {
  std::uintptr_t bits = 0;
  for (const void* const pointer : pointers) bits |= reinterpret_cast<std::uintptr_t>(pointer);
  return bits % 16 == 0;
}

/// Calls f(i, n) for the elements i, ..., i + n - 1 of `count`, which the threads of the grid
/// share. n is an integral_constant: N, and for the last few elements 1.
template <int N, class F>
__device__ void for_items(std::int64_t count, const F& f) {
  const std::int64_t whole = count - count % N;
  for (std::int64_t i = grid_thread() * N; i < whole; i += grid_threads() * N) {
    f(i, std::integral_constant<int, N>{});
  }
  for (std::int64_t i = whole + grid_thread(); i < count; i += grid_threads()) {
    f(i, std::integral_constant<int, 1>{});
  }
}

}  // namespace fovea::cuda
