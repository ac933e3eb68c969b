// Softmax and log-softmax of rows on CUDA, one block per row. Statistics are f32 for bf16 and f32,
// f64 for f64. Sums run in a fixed order.
#include <cmath>

#include "ops/common/block_reduce.cuh"
#include "ops/softmax/call.h"

namespace fovea::ops::cuda {

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
void run_forward(const SoftmaxCall& c) {
  launch(current_stream(), softmax_forward_kernel<T, Log>, static_cast<unsigned>(c.rows), kRowBlock,
         kRowWarps * sizeof(acc_t<T>), static_cast<T*>(c.y), static_cast<const T*>(c.x), c.width);
}

template <class T, bool Log>
void run_backward(const SoftmaxGradCall& c) {
  launch(current_stream(), softmax_backward_kernel<T, Log>, static_cast<unsigned>(c.rows),
         kRowBlock, kRowWarps * sizeof(acc_t<T>), static_cast<T*>(c.dx), static_cast<const T*>(c.y),
         static_cast<const T*>(c.dy), c.width);
}

inline void softmax(const SoftmaxCall& c) {
  if (c.rows == 0 || c.width == 0) return;
  dispatch_float(c.dtype, [&](auto tag) {
    using T = decltype(tag);
    c.log ? run_forward<T, true>(c) : run_forward<T, false>(c);
  });
}

inline void softmax_grad(const SoftmaxGradCall& c) {
  if (c.rows == 0 || c.width == 0) return;
  dispatch_float(c.dtype, [&](auto tag) {
    using T = decltype(tag);
    c.log ? run_backward<T, true>(c) : run_backward<T, false>(c);
  });
}

extern const SoftmaxKernels softmax_kernels{softmax, softmax_grad};

}  // namespace fovea::ops::cuda
