// GELU's derivative together with the partial sums of its rows, which are a bias gradient.
#include "ops/common/cuda/row_items.cuh"
#include "ops/elementwise/activation_functors.h"
#include "ops/gemm/cuda.h"

namespace fovea::ops::cuda {

using fovea::cuda::blocks_for;
using fovea::cuda::grid_thread;
using fovea::cuda::grid_threads;

/// N adjacent columns of a part's rows per thread.
template <class T, int N, class Functor>
__global__ void gelu_grad_kernel(GeluGradCall c) {
  using A = acc_t<T>;
  const Functor derivative;
  const std::int64_t groups = c.cols / N;
  for (std::int64_t i = grid_thread(); i < c.parts() * groups; i += grid_threads()) {
    const auto [part, group] = divide(i, groups);
    const std::int64_t first = part * c.rows_a_part;
    const std::int64_t end = first + c.rows_a_part < c.rows ? first + c.rows_a_part : c.rows;
    Items<N, A> sums{};
    for (std::int64_t row = first; row < end; ++row) {
      const std::int64_t at = row * c.cols + group * N;
      const auto z = Items<N, T>::load(static_cast<const T*>(c.z) + at);
      const auto dy = Items<N, T>::load(static_cast<const T*>(c.dy) + at);
      Items<N, T> dz;
      for (int j = 0; j < N; ++j) {
        dz.v[j] = static_cast<T>(derivative(static_cast<A>(z.v[j]), static_cast<A>(dy.v[j])));
        sums.v[j] += static_cast<A>(dz.v[j]);
      }
      dz.store(static_cast<T*>(c.dz) + at);
    }
    sums.store(static_cast<A*>(c.sums) + part * c.cols + group * N);
  }
}

void gelu_grad(const GeluGradCall& c) {
  dispatch_float(c.dtype, [&](auto tag) {
    using T = decltype(tag);
    with_items<T>(are_packable<T>(c.cols, {c.z, c.dy, c.dz, c.sums}), [&](auto items) {
      constexpr int kItems = decltype(items)::value;
      const unsigned blocks = blocks_for(c.parts() * c.cols / kItems, kRowBlock);
      launch(current_stream(),
             c.is_erf ? gelu_grad_kernel<T, kItems, detail::GeluGrad>
                      : gelu_grad_kernel<T, kItems, detail::GeluTanhGrad>,
             blocks, kRowBlock, 0, c);
    });
  });
}

}  // namespace fovea::ops::cuda
