// GEMM epilogues that cuBLASLt does not support.
#include "engine/cuda/launch.cuh"
#include "ops/elementwise/activation_functors.h"
#include "ops/gemm/cuda.h"

namespace fovea::ops::cuda {

using fovea::cuda::blocks_for;
using fovea::cuda::current_stream;
using fovea::cuda::grid_thread;
using fovea::cuda::grid_threads;

/// Element i of the packed [batch, m, n] and its offset in C.
template <class Sum, class Out>
__global__ void finish_kernel(GemmCall call, const Sum* sums, std::int64_t count) {
  const auto* const bias = static_cast<const acc_t<Out>*>(call.bias);
  const auto* const addend = static_cast<const Out*>(call.addend);
  auto* const out = static_cast<Out*>(call.c.data);
  auto* const before = static_cast<Out*>(call.pre_activation);
  for (std::int64_t i = grid_thread(); i < count; i += grid_threads()) {
    const auto [line, column] = divide(i, call.n);
    const auto [batch, row] = divide(line, call.m);
    const std::int64_t to =
        gemm_batch_offset(call, call.c.batch, batch) + row * call.c.row + column;
    Sum value = sums == nullptr ? Sum(0) : sums[i];
    if (call.bias_kind == GemmBias::per_column) value += static_cast<Sum>(bias[column]);
    if (call.bias_kind == GemmBias::per_row) value += static_cast<Sum>(bias[row]);
    if (addend != nullptr) value += static_cast<Sum>(static_cast<acc_t<Out>>(addend[to]));
    const Out stored = static_cast<Out>(static_cast<acc_t<Out>>(value));
    if (before != nullptr) before[to] = stored;
    if (call.activation != GemmActivation::none) value = static_cast<Sum>(stored);
    if (call.activation == GemmActivation::gelu) value = detail::Gelu{}(value);
    if (call.activation == GemmActivation::gelu_tanh) value = detail::GeluTanh{}(value);
    out[to] = static_cast<Out>(static_cast<acc_t<Out>>(value));
  }
}

void finish(const FinishCall& c) {
  constexpr unsigned kBlock = 256;
  std::int64_t count = c.gemm.m * c.gemm.n;
  for (const std::int64_t size : c.gemm.batch) count *= size;
  dispatch_float(c.gemm.c.dtype, [&](auto tag) {
    using Out = decltype(tag);
    using Sum = acc_t<Out>;
    fovea::cuda::launch(current_stream(), finish_kernel<Sum, Out>, blocks_for(count, kBlock),
                        kBlock, 0, c.gemm, static_cast<const Sum*>(c.sums), count);
  });
}

}  // namespace fovea::ops::cuda
