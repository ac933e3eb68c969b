// Softmax and log-softmax of rows on CUDA, one warp per row. Statistics are f32 for bf16 and f32,
// f64 for f64. Sums run in a fixed order.
#include <cmath>

#include "ops/common/cuda/row_items.cuh"
#include "ops/softmax/call.h"

namespace fovea::ops::cuda {

/// y = exp(x - max) / sum, or x - max - log(sum).
template <class T, int N, bool Log>
__global__ void softmax_forward_kernel(SoftmaxCall c) {
  using A = acc_t<T>;
  const std::int64_t row = warp_row();
  if (row >= c.rows) return;
  const T* const x = static_cast<const T*>(c.x) + row * c.width;
  T* const y = static_cast<T*>(c.y) + row * c.width;
  A largest = -static_cast<A>(INFINITY);
  along_row<N>(c.width, [&](std::int64_t i) {
    const auto in = Items<N, T>::load(x + i);
    for (int j = 0; j < N; ++j) largest = MaxOf{}(largest, static_cast<A>(in.v[j]));
  });
  largest = warp_reduce(largest, MaxOf{});
  A sum = 0;
  along_row<N>(c.width, [&](std::int64_t i) {
    const auto in = Items<N, T>::load(x + i);
    for (int j = 0; j < N; ++j) sum += std::exp(static_cast<A>(in.v[j]) - largest);
  });
  sum = warp_reduce(sum, SumOf{});
  const A log_sum = std::log(sum);
  along_row<N>(c.width, [&](std::int64_t i) {
    const auto in = Items<N, T>::load(x + i);
    Items<N, T> out;
    for (int j = 0; j < N; ++j) {
      const A shifted = static_cast<A>(in.v[j]) - largest;
      out.v[j] = static_cast<T>(Log ? shifted - log_sum : std::exp(shifted) / sum);
    }
    out.store(y + i);
  });
}

/// Softmax: dx = y (dy - sum(y dy)). Log-softmax: dx = dy - exp(y) sum(dy).
template <class T, int N, bool Log>
__global__ void softmax_backward_kernel(SoftmaxGradCall c) {
  using A = acc_t<T>;
  const std::int64_t row = warp_row();
  if (row >= c.rows) return;
  const T* const y = static_cast<const T*>(c.y) + row * c.width;
  const T* const dy = static_cast<const T*>(c.dy) + row * c.width;
  T* const dx = static_cast<T*>(c.dx) + row * c.width;
  A sum = 0;
  along_row<N>(c.width, [&](std::int64_t i) {
    const auto values = Items<N, T>::load(y + i), upstream = Items<N, T>::load(dy + i);
    for (int j = 0; j < N; ++j) {
      sum += (Log ? A(1) : static_cast<A>(values.v[j])) * static_cast<A>(upstream.v[j]);
    }
  });
  sum = warp_reduce(sum, SumOf{});
  along_row<N>(c.width, [&](std::int64_t i) {
    const auto values = Items<N, T>::load(y + i), upstream = Items<N, T>::load(dy + i);
    Items<N, T> out;
    for (int j = 0; j < N; ++j) {
      const A value = static_cast<A>(values.v[j]), g = static_cast<A>(upstream.v[j]);
      out.v[j] = static_cast<T>(Log ? g - std::exp(value) * sum : value * (g - sum));
    }
    out.store(dx + i);
  });
}

inline void softmax(const SoftmaxCall& c) {
  dispatch_float(c.dtype, [&](auto tag) {
    using T = decltype(tag);
    launch_rows<T>(c, {c.x, c.y}, [&](auto items) {
      constexpr int kItems = decltype(items)::value;
      return c.log ? softmax_forward_kernel<T, kItems, true>
                   : softmax_forward_kernel<T, kItems, false>;
    });
  });
}

inline void softmax_grad(const SoftmaxGradCall& c) {
  dispatch_float(c.dtype, [&](auto tag) {
    using T = decltype(tag);
    launch_rows<T>(c, {c.y, c.dy, c.dx}, [&](auto items) {
      constexpr int kItems = decltype(items)::value;
      return c.log ? softmax_backward_kernel<T, kItems, true>
                   : softmax_backward_kernel<T, kItems, false>;
    });
  });
}

extern const SoftmaxKernels softmax_kernels{softmax, softmax_grad};

}  // namespace fovea::ops::cuda
