// Sums and maxima of runs on CUDA: one block per run if its elements are adjacent, otherwise one
// thread per run, next to the threads of neighbouring runs.
#include "ops/common/cuda/row_items.cuh"
#include "ops/reduce/cuda.h"

namespace fovea::ops::cuda {

using fovea::cuda::blocks_for;
using fovea::cuda::grid_thread;
using fovea::cuda::grid_threads;

/// The value from which a sum or a maximum starts.
template <class A>
__device__ A start_of(SumOf) {
  return A(0);
}
template <class A>
__device__ A start_of(MaxOf) {
  return A(-INFINITY);
}

/// For inner = 1.
template <class T, int N, class Of>
__global__ void runs_kernel(PartialsCall c) {
  using A = acc_t<T>;
  const std::int64_t run = blockIdx.x, outer = run / c.runs, first = run % c.runs * c.run;
  const std::int64_t count = first + c.run < c.n ? c.run : c.n - first;
  const T* const x = static_cast<const T*>(c.x) + outer * c.n + first;
  const Of combine;
  A result = start_of<A>(combine);
  for (std::int64_t i = threadIdx.x * N; i < count; i += kRowBlock * N) {
    const auto in = Items<N, T>::load(x + i);
    for (int j = 0; j < N; ++j) result = combine(result, static_cast<A>(in.v[j]));
  }
  result = block_reduce(result, combine);
  if (threadIdx.x == 0) static_cast<A*>(c.results)[run] = result;
}

/// N adjacent columns per thread.
template <class T, int N, class Of>
__global__ void strided_runs_kernel(PartialsCall c) {
  using A = acc_t<T>;
  const Of combine;
  const std::int64_t groups = c.inner / N, count = c.outer * c.runs * groups;
  for (std::int64_t i = grid_thread(); i < count; i += grid_threads()) {
    const auto [run, group] = divide(i, groups);
    const auto [outer, part] = divide(run, c.runs);
    const std::int64_t first = part * c.run;
    const std::int64_t end = first + c.run < c.n ? first + c.run : c.n;
    const T* const x = static_cast<const T*>(c.x) + outer * c.n * c.inner + group * N;
    Items<N, A> results;
    for (int j = 0; j < N; ++j) results.v[j] = start_of<A>(combine);
    for (std::int64_t k = first; k < end; ++k) {
      const auto in = Items<N, T>::load(x + k * c.inner);
      for (int j = 0; j < N; ++j) {
        results.v[j] = combine(results.v[j], static_cast<A>(in.v[j]));
      }
    }
    results.store(static_cast<A*>(c.results) + i * N);
  }
}

template <class Of>
void partials(const PartialsCall& c) {
  const std::int64_t count = c.outer * c.runs * c.inner;
  if (count == 0) return;
  dispatch_float(c.dtype, [&](auto tag) {
    using T = decltype(tag);
    if (c.inner > 1) {
      with_items<T>(are_packable<T>(c.inner, {c.x, c.results}), [&](auto items) {
        constexpr int kItems = decltype(items)::value;
        launch(current_stream(), strided_runs_kernel<T, kItems, Of>,
               blocks_for(count / kItems, kRowBlock), kRowBlock, 0, c);
      });
      return;
    }
    const bool packs = are_packable<T>(c.n, {c.x}) && are_packable<T>(c.run, {});
    with_items<T>(packs, [&](auto items) {
      launch(current_stream(), runs_kernel<T, decltype(items)::value, Of>,
             static_cast<unsigned>(count), kRowBlock, kRowWarps * sizeof(acc_t<T>), c);
    });
  });
}

void partial_sums(const PartialsCall& c) { partials<SumOf>(c); }

extern const ReduceKernels reduce_kernels{partial_sums, partials<MaxOf>, l1_normalize,
                                          l1_normalize_grad, RunLengths{1 << 12, 1 << 6}};

}  // namespace fovea::ops::cuda
