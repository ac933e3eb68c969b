// Sums of runs on CUDA: one block per run if its elements are adjacent, otherwise one thread per
// run, next to the threads of neighbouring runs.
#include "ops/common/cuda/row_items.cuh"
#include "ops/reduce/cuda.h"

namespace fovea::ops::cuda {

using fovea::cuda::blocks_for;
using fovea::cuda::grid_thread;
using fovea::cuda::grid_threads;

/// For inner = 1.
template <class T, int N>
__global__ void run_sums_kernel(PartialSumsCall c) {
  using A = acc_t<T>;
  const std::int64_t run = blockIdx.x, outer = run / c.runs, first = run % c.runs * c.run;
  const std::int64_t count = first + c.run < c.n ? c.run : c.n - first;
  const T* const x = static_cast<const T*>(c.x) + outer * c.n + first;
  A sum = 0;
  for (std::int64_t i = threadIdx.x * N; i < count; i += kRowBlock * N) {
    const auto in = Items<N, T>::load(x + i);
    for (int j = 0; j < N; ++j) sum += static_cast<A>(in.v[j]);
  }
  sum = block_reduce(sum, SumOf{});
  if (threadIdx.x == 0) static_cast<A*>(c.sums)[run] = sum;
}

template <class T>
__global__ void strided_sums_kernel(PartialSumsCall c) {
  using A = acc_t<T>;
  const std::int64_t count = c.outer * c.runs * c.inner;
  for (std::int64_t i = grid_thread(); i < count; i += grid_threads()) {
    const auto [run, column] = divide(i, c.inner);
    const auto [outer, part] = divide(run, c.runs);
    const std::int64_t first = part * c.run;
    const std::int64_t end = first + c.run < c.n ? first + c.run : c.n;
    const T* const x = static_cast<const T*>(c.x) + outer * c.n * c.inner + column;
    A sum = 0;
    for (std::int64_t k = first; k < end; ++k) sum += static_cast<A>(x[k * c.inner]);
    static_cast<A*>(c.sums)[i] = sum;
  }
}

void partial_sums(const PartialSumsCall& c) {
  const std::int64_t count = c.outer * c.runs * c.inner;
  if (count == 0) return;
  dispatch_float(c.dtype, [&](auto tag) {
    using T = decltype(tag);
    if (c.inner > 1) {
      launch(current_stream(), strided_sums_kernel<T>, blocks_for(count, kRowBlock), kRowBlock, 0,
             c);
      return;
    }
    const bool packs = are_packable<T>(c.n, {c.x}) && are_packable<T>(c.run, {});
    with_items<T>(packs, [&](auto items) {
      launch(current_stream(), run_sums_kernel<T, decltype(items)::value>,
             static_cast<unsigned>(count), kRowBlock, kRowWarps * sizeof(acc_t<T>), c);
    });
  });
}

extern const ReduceKernels reduce_kernels{partial_sums, l1_normalize, l1_normalize_grad,
                                          SumRuns{1 << 12, 1 << 6}};

}  // namespace fovea::ops::cuda
