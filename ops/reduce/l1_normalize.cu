// L1 normalisation of rows on CUDA, one warp per row, in f64.
#include "ops/common/cuda/row_items.cuh"
#include "ops/reduce/cuda.h"

namespace fovea::ops::cuda {

template <int N, class T>
__device__ double absolute_sum(const T* x, std::int64_t width) {
  double sum = 0;
  along_row<N>(width, [&](std::int64_t i) {
    const auto in = Items<N, T>::load(x + i);
    for (int j = 0; j < N; ++j) sum += std::fabs(static_cast<double>(in.v[j]));
  });
  return warp_reduce(sum, SumOf{});
}

template <class T, int N>
__global__ void l1_normalize_kernel(L1NormalizeCall c) {
  const std::int64_t row = warp_row();
  if (row >= c.rows) return;
  const T* const x = static_cast<const T*>(c.x) + row * c.width;
  T* const y = static_cast<T*>(c.y) + row * c.width;
  const double sum = absolute_sum<N>(x, c.width), scale = 1 / (sum < c.eps ? c.eps : sum);
  along_row<N>(c.width, [&](std::int64_t i) {
    const auto in = Items<N, T>::load(x + i);
    Items<N, T> out;
    for (int j = 0; j < N; ++j) out.v[j] = static_cast<T>(static_cast<double>(in.v[j]) * scale);
    out.store(y + i);
  });
}

/// With s = sum |x| and y = x / s:  dx = (dy - sign(x) sum dy y) / s;  where s < eps, dx = dy /
/// eps.
template <class T, int N>
__global__ void l1_normalize_grad_kernel(L1NormalizeCall c) {
  const std::int64_t row = warp_row();
  if (row >= c.rows) return;
  const T* const x = static_cast<const T*>(c.x) + row * c.width;
  const T* const dy = static_cast<const T*>(c.dy) + row * c.width;
  T* const dx = static_cast<T*>(c.dx) + row * c.width;
  const double sum = absolute_sum<N>(x, c.width), divisor = sum < c.eps ? c.eps : sum;
  double dot = 0;  // sum dy y
  if (sum >= c.eps) {
    along_row<N>(c.width, [&](std::int64_t i) {
      const auto in = Items<N, T>::load(x + i), upstream = Items<N, T>::load(dy + i);
      for (int j = 0; j < N; ++j) {
        dot += static_cast<double>(upstream.v[j]) * static_cast<double>(in.v[j]) / sum;
      }
    });
  }
  dot = warp_reduce(dot, SumOf{});
  along_row<N>(c.width, [&](std::int64_t i) {
    const auto in = Items<N, T>::load(x + i), upstream = Items<N, T>::load(dy + i);
    Items<N, T> out;
    for (int j = 0; j < N; ++j) {
      const double value = static_cast<double>(in.v[j]);
      const double sign = static_cast<double>((value > 0) - (value < 0));
      out.v[j] = static_cast<T>((static_cast<double>(upstream.v[j]) - sign * dot) / divisor);
    }
    out.store(dx + i);
  });
}

void l1_normalize(const L1NormalizeCall& c) {
  dispatch_float(c.dtype, [&](auto tag) {
    using T = decltype(tag);
    launch_rows<T>(c, {c.x, c.y},
                   [](auto items) { return l1_normalize_kernel<T, decltype(items)::value>; });
  });
}

void l1_normalize_grad(const L1NormalizeCall& c) {
  dispatch_float(c.dtype, [&](auto tag) {
    using T = decltype(tag);
    launch_rows<T>(c, {c.x, c.dy, c.dx},
                   [](auto items) { return l1_normalize_grad_kernel<T, decltype(items)::value>; });
  });
}

}  // namespace fovea::ops::cuda
