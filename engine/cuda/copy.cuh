// The kernels of engine/kernels.h: strided copies, accumulation, sums over axes, finite check.
#pragma once

#include <algorithm>
#include <type_traits>

#include "engine/cuda/launch.cuh"
#include "engine/dtype.h"
#include "engine/kernels.h"

namespace fovea::cuda {

/// The offset of each operand, in elements, at row-major position `index`.
template <std::size_t N>
struct Offsets {
  std::int64_t at[N] = {};

  FOVEA_HD Offsets(const StridedAxes<N>& axes, std::int64_t index) {
    for (int axis = axes.rank - 1; axis > 0; --axis) {
      const Division place = divide(index, axes.shape[axis]);
      index = place.quotient;
      for (std::size_t k = 0; k < N; ++k) at[k] += place.remainder * axes.strides[k][axis];
    }
    for (std::size_t k = 0; k < N; ++k) at[k] += index * axes.strides[k][0];
  }
};

template <class To, class From>
FOVEA_HD To converted(From value) {
  return static_cast<To>(static_cast<acc_t<From>>(value));
}

template <class To, class From>
__global__ void copy_kernel(To* to, const From* from, const __grid_constant__ StridedAxes<2> axes) {
  for (std::int64_t i = grid_thread(); i < axes.count; i += grid_threads()) {
    const Offsets<2> offsets(axes, i);
    to[offsets.at[0]] = converted<To>(from[offsets.at[1]]);
  }
}

template <class To, class From>
__global__ void add_kernel(To* to, const From* from, const __grid_constant__ StridedAxes<2> axes) {
  using Sum = decltype(acc_t<To>{} + acc_t<From>{});
  for (std::int64_t i = grid_thread(); i < axes.count; i += grid_threads()) {
    const Offsets<2> offsets(axes, i);
    To& y = to[offsets.at[0]];
    y = static_cast<To>(static_cast<Sum>(static_cast<acc_t<To>>(y)) +
                        static_cast<Sum>(static_cast<acc_t<From>>(from[offsets.at[1]])));
  }
}

/// y [kept, chunks]: sums in f64. Chunk c of a sum adds the elements c, c + chunks, ... in order.
template <class To, class From>
__global__ void sum_kernel(To* y, const From* x, const __grid_constant__ StridedAxes<1> kept,
                           const __grid_constant__ StridedAxes<1> reduced, std::int64_t chunks) {
  const bool goes_along_sum = reduced.strides[0][reduced.rank - 1] == 1;
  for (std::int64_t i = grid_thread(); i < kept.count * chunks; i += grid_threads()) {
    const Division at = divide(i, goes_along_sum ? chunks : kept.count);
    const std::int64_t result = goes_along_sum ? at.quotient : at.remainder;
    const std::int64_t chunk = goes_along_sum ? at.remainder : at.quotient;
    const std::int64_t first = Offsets<1>(kept, result).at[0];
    double sum = 0;
    for (std::int64_t r = chunk; r < reduced.count; r += chunks) {
      sum += static_cast<double>(static_cast<acc_t<From>>(x[first + Offsets<1>(reduced, r).at[0]]));
    }
    y[result * chunks + chunk] = static_cast<To>(static_cast<acc_t<To>>(sum));
  }
}

/// Clears *finite when an element is NaN or infinite.
template <class T>
__global__ void finite_kernel(std::int64_t* finite, const T* x,
                              const __grid_constant__ StridedAxes<1> axes) {
  bool is_finite = true;
  for (std::int64_t i = grid_thread(); i < axes.count; i += grid_threads()) {
    const auto value = static_cast<acc_t<T>>(x[Offsets<1>(axes, i).at[0]]);
    is_finite = is_finite && value - value == 0;
  }
  if (!is_finite) atomicAnd(reinterpret_cast<unsigned long long*>(finite), 0ull);
}

template <class T>
__global__ void fill_kernel(T* y, T value, const __grid_constant__ StridedAxes<1> axes) {
  for (std::int64_t i = grid_thread(); i < axes.count; i += grid_threads()) {
    y[Offsets<1>(axes, i).at[0]] = value;
  }
}

inline constexpr unsigned kCopyBlock = 256;

template <class To, class From>
void run_copy(To* to, const From* from, const StridedAxes<2>& axes) {
  launch(current_stream(), copy_kernel<To, From>, blocks_for(axes.count, kCopyBlock), kCopyBlock, 0,
         to, from, axes);
}

template <class To, class From>
void run_add(To* to, const From* from, const StridedAxes<2>& axes) {
  launch(current_stream(), add_kernel<To, From>, blocks_for(axes.count, kCopyBlock), kCopyBlock, 0,
         to, from, axes);
}

/// Chunks per sum: enough to occupy all threads and to let a warp walk along one sum, but still
/// several elements per thread.
inline std::int64_t chunks_of(std::int64_t sums, std::int64_t elements) {
  constexpr std::int64_t kThreads = 1 << 16, kMinElements = 16;
  const std::int64_t wanted = std::max<std::int64_t>(kWarp, kThreads / sums);
  return std::clamp<std::int64_t>(elements / kMinElements, 1, wanted);
}

/// An axis of `count` elements, `stride` apart.
inline StridedAxes<1> one_axis(std::int64_t count, std::int64_t stride) {
  StridedAxes<1> axes;
  axes.rank = 1;
  axes.count = axes.shape[0] = count;
  axes.strides[0][0] = stride;
  return axes;
}

/// Sums in rounds; each round leaves one partial sum per chunk.
template <class To, class From>
void run_sum(To* y, const From* x, const StridedAxes<1>& kept, const StridedAxes<1>& reduced) {
  const std::int64_t chunks = chunks_of(kept.count, reduced.count), sums = kept.count * chunks;
  const auto start = [&](auto* to) {
    launch(current_stream(), sum_kernel<std::remove_pointer_t<decltype(to)>, From>,
           blocks_for(sums, kCopyBlock), kCopyBlock, 0, to, x, kept, reduced, chunks);
  };
  if (chunks == 1) return start(y);
  const Storage parts = temporary(sums, DType::f64);
  auto* const to = reinterpret_cast<double*>(parts.data());
  start(to);
  run_sum(y, static_cast<const double*>(to), one_axis(kept.count, chunks), one_axis(chunks, 1));
}

template <class T>
void run_fill(T* y, T value, const StridedAxes<1>& axes) {
  launch(current_stream(), fill_kernel<T>, blocks_for(axes.count, kCopyBlock), kCopyBlock, 0, y,
         value, axes);
}

/// *finite must be non-zero on entry.
template <class T>
void run_finite(std::int64_t* finite, const T* x, const StridedAxes<1>& axes) {
  launch(current_stream(), finite_kernel<T>, blocks_for(axes.count, kCopyBlock), kCopyBlock, 0,
         finite, x, axes);
}

}  // namespace fovea::cuda
