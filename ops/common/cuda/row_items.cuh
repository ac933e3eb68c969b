// Rows processed by one warp each, with a few adjacent elements per lane: 16 bytes per access
// where possible.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <type_traits>

#include "engine/cuda/items.cuh"
#include "ops/common/cuda/block_reduce.cuh"

namespace fovea::ops::cuda {

using fovea::cuda::Items;

/// Whether all rows of `width` elements behind these pointers start at multiples of 16 bytes.
template <class T>
bool are_packable(std::int64_t width, std::initializer_list<const void*> rows) {
  std::uintptr_t bits = static_cast<std::uintptr_t>(width) * sizeof(T);
  for (const void* row : rows) bits |= reinterpret_cast<std::uintptr_t>(row);
  return bits % 16 == 0;
}

/// Calls f with an integral_constant: the number of items per access.
template <class T, class F>
void with_items(bool packable, const F& f) {
  if (packable) {
    f(std::integral_constant<int, fovea::cuda::Pack<T>::kSize>{});
  } else {
    f(std::integral_constant<int, 1>{});
  }
}

/// The row of this warp, in a grid of blocks_of_rows(rows) blocks of kRowBlock threads. It may be
/// past the last row.
__device__ inline std::int64_t warp_row() {
  return static_cast<std::int64_t>(blockIdx.x) * kRowWarps + threadIdx.x / kWarp;
}
inline unsigned blocks_of_rows(std::int64_t rows) {
  return static_cast<unsigned>((rows + kRowWarps - 1) / kRowWarps);
}

/// Launches choose(items)(call), one warp for each of call.rows rows, with as many items as the
/// alignment of the rows of call.width elements behind these pointers allows.
template <class T, class Call, class Choose>
void launch_rows(const Call& call, std::initializer_list<const void*> rows, const Choose& choose) {
  if (call.rows == 0) return;
  with_items<T>(are_packable<T>(call.width, rows), [&](auto items) {
    launch(current_stream(), choose(items), blocks_of_rows(call.rows), kRowBlock, 0, call);
  });
}

/// Calls f(position of N items) for all items of a row, which the lanes of this warp share.
template <int N, class F>
__device__ void along_row(std::int64_t width, const F& f) {
  for (std::int64_t i = threadIdx.x % kWarp * N; i < width; i += kWarp * N) f(i);
}

}  // namespace fovea::ops::cuda
