// Softmax and log-softmax along the last axis, one block per row: the hand-written row-wise kernel.
// Statistics are f32 for bf16 and f32, f64 for f64. Sums run in a fixed order.
#pragma once

#include <cmath>

#include "engine/cuda/launch.cuh"
#include "engine/dtype.h"

namespace fovea::cuda {

inline constexpr unsigned kRowBlock = 128;  ///< four warps
inline constexpr unsigned kRowWarps = kRowBlock / kWarp;

struct MaxOf {
  template <class T>
  FOVEA_HD T operator()(T a, T b) const {
    return a != a || a > b ? a : b;  // a NaN on either side stays
  }
};

struct SumOf {
  template <class T>
  FOVEA_HD T operator()(T a, T b) const {
    return a + b;
  }
};

/// Combines one value per thread over the block; every thread gets the result.
template <class T, class Combine>
__device__ T block_reduce(T value, Combine combine) {
  T* const partial = dynamic_shared<T>();
  value = warp_reduce(value, combine);
  __syncthreads();  // the last call's readers are done
  if (threadIdx.x % kWarp == 0) partial[threadIdx.x / kWarp] = value;
  __syncthreads();
  T result = partial[0];
  for (unsigned warp = 1; warp < kRowWarps; ++warp) result = combine(result, partial[warp]);
  return result;
}

/// y = exp(x - max) / sum, or x - max - log(sum).
template <class T, bool Log>
__global__ void softmax_forward_kernel(T* y, const T* x, std::int64_t columns) {
  using A = acc_t<T>;
  const T* const row = x + blockIdx.x * columns;
  T* const out = y + blockIdx.x * columns;
  A largest = -static_cast<A>(INFINITY);
  for (std::int64_t i = threadIdx.x; i < columns; i += kRowBlock) {
    largest = MaxOf{}(largest, static_cast<A>(row[i]));
  }
  largest = block_reduce(largest, MaxOf{});
  A sum = 0;
  for (std::int64_t i = threadIdx.x; i < columns; i += kRowBlock) {
    sum += std::exp(static_cast<A>(row[i]) - largest);
  }
  sum = block_reduce(sum, SumOf{});
  const A log_sum = std::log(sum);
  for (std::int64_t i = threadIdx.x; i < columns; i += kRowBlock) {
    const A shifted = static_cast<A>(row[i]) - largest;
    out[i] = static_cast<T>(Log ? shifted - log_sum : std::exp(shifted) / sum);
  }
}

/// Softmax: dx = y (dy - sum(y dy)). Log-softmax: dx = dy - exp(y) sum(dy).
template <class T, bool Log>
__global__ void softmax_backward_kernel(T* dx, const T* y, const T* dy, std::int64_t columns) {
  using A = acc_t<T>;
  const std::int64_t first = blockIdx.x * columns;
  A sum = 0;
  for (std::int64_t i = threadIdx.x; i < columns; i += kRowBlock) {
    const A upstream = static_cast<A>(dy[first + i]);
    sum += Log ? upstream : static_cast<A>(y[first + i]) * upstream;
  }
  sum = block_reduce(sum, SumOf{});
  for (std::int64_t i = threadIdx.x; i < columns; i += kRowBlock) {
    const A value = static_cast<A>(y[first + i]), upstream = static_cast<A>(dy[first + i]);
    dx[first + i] =
        static_cast<T>(Log ? upstream - std::exp(value) * sum : value * (upstream - sum));
  }
}

template <class T, bool Log>
void run_softmax_forward(T* y, const T* x, std::int64_t rows, std::int64_t columns) {
  launch(softmax_forward_kernel<T, Log>, static_cast<unsigned>(rows), kRowBlock,
         kRowWarps * sizeof(acc_t<T>), y, x, columns);
}

template <class T, bool Log>
void run_softmax_backward(T* dx, const T* y, const T* dy, std::int64_t rows, std::int64_t columns) {
  launch(softmax_backward_kernel<T, Log>, static_cast<unsigned>(rows), kRowBlock,
         kRowWarps * sizeof(acc_t<T>), dx, y, dy, columns);
}

}  // namespace fovea::cuda
