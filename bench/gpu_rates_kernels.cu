// The kernels of gpu_rates: registers only, except the copy.
#include "bench/gpu_rates.h"
#include "engine/cuda/status.h"
#include "engine/cuda/tensor_core.cuh"

namespace fovea::bench {
namespace {

namespace gpu = fovea::cuda;

__global__ void copy_kernel(gpu::Pack<float>* to, const gpu::Pack<float>* from,
                            std::int64_t count) {
  for (std::int64_t i = gpu::grid_thread(); i < count; i += gpu::grid_threads()) {
    gpu::store_pack(to[i].v, gpu::load_pack(from[i].v));
  }
}

enum class Factors { bf16, tf32 };

template <Factors Type>
__global__ void mma_kernel(float* sums, int rounds) {
  if constexpr (gpu::kHasTensorCores) {
    float d[kIndependent][4] = {};
    const std::uint32_t one = 0x3f803f80u + threadIdx.x;  // about 1, in both types
    const std::uint32_t a[4] = {one, one, one, one}, b[2] = {one, one};
    for (int round = 0; round < rounds; ++round) {
      for (int i = 0; i < kIndependent; ++i) {
        if constexpr (Type == Factors::bf16) {
          gpu::mma_bf16(d[i], a, b);
        } else {
          gpu::mma_tf32(d[i], a, b);
        }
      }
    }
    float sum = 0;
    for (int i = 0; i < 4 * kIndependent; ++i) sum += d[i / 4][i % 4];
    sums[gpu::grid_thread()] = sum;
  }
}

__global__ void exp2_kernel(float* sums, int rounds) {
  float x[kIndependent];
  for (int i = 0; i < kIndependent; ++i) x[i] = static_cast<float>(i) / 16;
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < kIndependent; ++i) x[i] = gpu::approximate_exp2(-x[i]);
  }
  float sum = 0;
  for (int i = 0; i < kIndependent; ++i) sum += x[i];
  sums[gpu::grid_thread()] = sum;
}

__global__ void nothing_kernel() {}

}  // namespace

void run_copy(void* to, const void* from, std::int64_t bytes) {
  const std::int64_t count = bytes / 16;
  gpu::launch(gpu::current_stream(), copy_kernel, gpu::blocks_for(count, kRateThreads),
              kRateThreads, 0, static_cast<gpu::Pack<float>*>(to),
              static_cast<const gpu::Pack<float>*>(from), count);
}

void run_mma_bf16(float* sums, Repetition how) {
  gpu::launch(gpu::current_stream(), mma_kernel<Factors::bf16>, how.blocks, kRateThreads, 0, sums,
              how.rounds);
}
void run_mma_tf32(float* sums, Repetition how) {
  gpu::launch(gpu::current_stream(), mma_kernel<Factors::tf32>, how.blocks, kRateThreads, 0, sums,
              how.rounds);
}
void run_exp2(float* sums, Repetition how) {
  gpu::launch(gpu::current_stream(), exp2_kernel, how.blocks, kRateThreads, 0, sums, how.rounds);
}
void run_nothing() { gpu::launch(gpu::current_stream(), nothing_kernel, 1, 1, 0); }

GraphOfNothing::GraphOfNothing(int nodes) {
  using gpu::cuda_check;
  cudaGraph_t captured = nullptr;
  cudaGraphExec_t executable = nullptr;
  cuda_check(cudaStreamBeginCapture(gpu::current_stream(), cudaStreamCaptureModeThreadLocal),
             "cudaStreamBeginCapture");
  for (int i = 0; i < nodes; ++i) run_nothing();
  cuda_check(cudaStreamEndCapture(gpu::current_stream(), &captured), "cudaStreamEndCapture");
  cuda_check(cudaGraphInstantiate(&executable, captured, 0), "cudaGraphInstantiate");
  cuda_check(cudaGraphDestroy(captured), "cudaGraphDestroy");
  graph_ = executable;
}
GraphOfNothing::~GraphOfNothing() {
  (void)cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(graph_));
}
void GraphOfNothing::run() const {
  gpu::cuda_check(cudaGraphLaunch(static_cast<cudaGraphExec_t>(graph_), gpu::current_stream()),
                  "cudaGraphLaunch");
}

}  // namespace fovea::bench
