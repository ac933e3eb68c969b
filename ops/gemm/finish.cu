// GEMM epilogues that cuBLASLt does not support.
#include "engine/cuda/items.cuh"
#include "ops/elementwise/activation_functors.h"
#include "ops/gemm/cuda.h"

namespace fovea::ops::cuda {

using fovea::cuda::blocks_for;
using fovea::cuda::current_stream;
using fovea::cuda::grid_thread;
using fovea::cuda::grid_threads;
using fovea::cuda::Items;

inline constexpr unsigned kBlock = 256;
inline constexpr int kTogether = 8;  ///< adjacent elements that a thread activates at once

template <class Out>
__device__ acc_t<Out> bias_of(const GemmCall& call, std::int64_t i) {
  using A = acc_t<Out>;
  if constexpr (std::is_same_v<Out, bf16>) {
    if (call.bias_is_bf16) return static_cast<A>(static_cast<const bf16*>(call.bias)[i]);
  }
  return static_cast<const A*>(call.bias)[i];
}

/// Element i of the packed [batch, m, n] and its offset in C.
template <class Sum, class Out>
__global__ void finish_kernel(GemmCall call, const Sum* sums, std::int64_t count) {
  const auto* const addend = static_cast<const Out*>(call.addend);
  auto* const out = static_cast<Out*>(call.c.data);
  for (std::int64_t i = grid_thread(); i < count; i += grid_threads()) {
    const auto [line, column] = divide(i, call.n);
    const auto [batch, row] = divide(line, call.m);
    const std::int64_t to =
        gemm_batch_offset(call, call.c.batch, batch) + row * call.c.row + column;
    Sum value = sums == nullptr ? Sum(0) : sums[i];
    if (call.bias_kind == GemmBias::per_column) value += bias_of<Out>(call, column);
    if (call.bias_kind == GemmBias::per_row) value += bias_of<Out>(call, row);
    if (addend != nullptr) value += static_cast<Sum>(static_cast<acc_t<Out>>(addend[to]));
    out[to] = static_cast<Out>(static_cast<acc_t<Out>>(value));
  }
}

template <class T, class Functor>
__global__ void activate_kernel(T* to, const T* from, std::int64_t count) {
  const Functor functor;
  fovea::cuda::for_items<kTogether>(count, [&](std::int64_t i, auto n) {
    const auto in = Items<n, T>::load(from + i);
    Items<n, T> out;
    for (int k = 0; k < n; ++k) {
      out.v[k] = static_cast<T>(functor(static_cast<acc_t<T>>(in.v[k])));
    }
    out.store(to + i);
  });
}

inline std::int64_t elements_of_c(const GemmCall& call) {
  std::int64_t count = call.m * call.n;
  for (const std::int64_t size : call.batch) count *= size;
  return count;
}

void activate(const GemmCall& call, const void* from) {
  const std::int64_t count = elements_of_c(call);
  dispatch_float(call.c.dtype, [&](auto tag) {
    using T = decltype(tag);
    fovea::cuda::launch(current_stream(),
                        call.activation == GemmActivation::gelu
                            ? activate_kernel<T, detail::Gelu>
                            : activate_kernel<T, detail::GeluTanh>,
                        blocks_for(count / kTogether, kBlock), kBlock, 0,
                        static_cast<T*>(call.c.data), static_cast<const T*>(from), count);
  });
}

void finish(const FinishCall& c) {
  const std::int64_t count = elements_of_c(c.gemm);
  dispatch_float(c.gemm.c.dtype, [&](auto tag) {
    using Out = decltype(tag);
    using Sum = acc_t<Out>;
    fovea::cuda::launch(current_stream(), finish_kernel<Sum, Out>, blocks_for(count, kBlock),
                        kBlock, 0, c.gemm, static_cast<const Sum*>(c.sums), count);
  });
}

}  // namespace fovea::ops::cuda
