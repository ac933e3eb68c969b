// Rows divided by the sum of their magnitudes on CUDA, a warp a row, in f64.
#include "ops/common/row_items.cuh"
#include "ops/reduce/cuda.h"

namespace fovea::ops::cuda {

template <class T>
__device__ double absolute_sum(const T* x, std::int64_t width) {
  double sum = 0;
  along_row<1>(width, [&](std::int64_t i) { sum += std::fabs(static_cast<double>(x[i])); });
  return warp_reduce(sum, SumOf{});
}

template <class T>
__global__ void l1_normalize_kernel(L1NormalizeCall c) {
  const std::int64_t row = warp_row();
  if (row >= c.rows) return;
  const T* const x = static_cast<const T*>(c.x) + row * c.width;
  T* const y = static_cast<T*>(c.y) + row * c.width;
  const double sum = absolute_sum(x, c.width), scale = 1 / (sum < c.eps ? c.eps : sum);
  along_row<1>(c.width,
               [&](std::int64_t i) { y[i] = static_cast<T>(static_cast<double>(x[i]) * scale); });
}

/// With s = sum |x| and y = x / s:  dx = (dy - sign(x) sum dy y) / s;  where s < eps, dx = dy /
/// eps.
template <class T>
__global__ void l1_normalize_grad_kernel(L1NormalizeCall c) {
  const std::int64_t row = warp_row();
  if (row >= c.rows) return;
  const T* const x = static_cast<const T*>(c.x) + row * c.width;
  const T* const dy = static_cast<const T*>(c.dy) + row * c.width;
  T* const dx = static_cast<T*>(c.dx) + row * c.width;
  const double sum = absolute_sum(x, c.width), divisor = sum < c.eps ? c.eps : sum;
  double dot = 0;  // sum dy y
  if (sum >= c.eps) {
    along_row<1>(c.width, [&](std::int64_t i) {
      dot += static_cast<double>(dy[i]) * static_cast<double>(x[i]) / sum;
    });
  }
  dot = warp_reduce(dot, SumOf{});
  along_row<1>(c.width, [&](std::int64_t i) {
    const double value = static_cast<double>(x[i]);
    const double sign = static_cast<double>((value > 0) - (value < 0));
    dx[i] = static_cast<T>((static_cast<double>(dy[i]) - sign * dot) / divisor);
  });
}

void l1_normalize(const L1NormalizeCall& c) {
  if (c.rows == 0) return;
  dispatch_float(c.dtype, [&](auto tag) {
    launch(current_stream(), l1_normalize_kernel<decltype(tag)>, blocks_of_rows(c.rows), kRowBlock,
           0, c);
  });
}

void l1_normalize_grad(const L1NormalizeCall& c) {
  if (c.rows == 0) return;
  dispatch_float(c.dtype, [&](auto tag) {
    launch(current_stream(), l1_normalize_grad_kernel<decltype(tag)>, blocks_of_rows(c.rows),
           kRowBlock, 0, c);
  });
}

}  // namespace fovea::ops::cuda
