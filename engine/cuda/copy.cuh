// The kernels of engine/kernels.h: strided copies, accumulation, sums over axes, finite check.
#pragma once

#include "engine/cuda/launch.cuh"
#include "engine/dtype.h"
#include "engine/kernels.h"

namespace fovea::cuda {

/// Offset, in elements, of an operand at row-major position `index`, for each operand.
template <std::size_t N>
struct Offsets {
  std::int64_t at[N] = {};

  FOVEA_HD Offsets(const StridedAxes<N>& axes, std::int64_t index) {
    for (int axis = axes.rank - 1; axis >= 0; --axis) {
      const std::int64_t position = index % axes.shape[axis];
      index /= axes.shape[axis];
      for (std::size_t k = 0; k < N; ++k) at[k] += position * axes.strides[k][axis];
    }
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

/// y[i] = sum over the reduced positions, in row-major order, in f64.
template <class T>
__global__ void sum_kernel(T* y, const T* x, const __grid_constant__ StridedAxes<1> kept,
                           const __grid_constant__ StridedAxes<1> reduced) {
  for (std::int64_t i = grid_thread(); i < kept.count; i += grid_threads()) {
    const std::int64_t first = Offsets<1>(kept, i).at[0];
    double sum = 0;
    for (std::int64_t r = 0; r < reduced.count; ++r) {
      sum += static_cast<double>(static_cast<acc_t<T>>(x[first + Offsets<1>(reduced, r).at[0]]));
    }
    y[i] = static_cast<T>(static_cast<acc_t<T>>(sum));
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

template <class T>
void run_sum(T* y, const T* x, const StridedAxes<1>& kept, const StridedAxes<1>& reduced) {
  launch(current_stream(), sum_kernel<T>, blocks_for(kept.count, kCopyBlock), kCopyBlock, 0, y, x,
         kept, reduced);
}

template <class T>
void run_fill(T* y, T value, const StridedAxes<1>& axes) {
  launch(current_stream(), fill_kernel<T>, blocks_for(axes.count, kCopyBlock), kCopyBlock, 0, y,
         value, axes);
}

/// *finite is not 0 before.
template <class T>
void run_finite(std::int64_t* finite, const T* x, const StridedAxes<1>& axes) {
  launch(current_stream(), finite_kernel<T>, blocks_for(axes.count, kCopyBlock), kCopyBlock, 0,
         finite, x, axes);
}

}  // namespace fovea::cuda
