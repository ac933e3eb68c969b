// Kernels that do one thing each, as often as asked, on the current stream.
#pragma once

#include <cstdint>

namespace fovea::bench {

/// How much work a launch does.
struct Repetition {
  unsigned blocks;  ///< of 256 threads
  int rounds;       ///< per thread, of kIndependent operations
};
inline constexpr int kRateThreads = 256, kIndependent = 8;

/// Copies 16 bytes at a time; `bytes` is a multiple of 16.
void run_copy(void* to, const void* from, std::int64_t bytes);
/// Products of 16 x 8 x 16 bf16, and of 16 x 8 x 8 TF32, once per warp. `sums` has one f32 per
/// thread.
void run_mma_bf16(float* sums, Repetition how);
void run_mma_tf32(float* sums, Repetition how);
/// Powers of two, approximate.
void run_exp2(float* sums, Repetition how);
void run_nothing();

/// Kernels that do nothing, one after another, as a graph of the current stream.
class GraphOfNothing {
 public:
  explicit GraphOfNothing(int nodes);
  ~GraphOfNothing();
  GraphOfNothing(const GraphOfNothing&) = delete;
  GraphOfNothing& operator=(const GraphOfNothing&) = delete;
  void run() const;

 private:
  void* graph_ = nullptr;  ///< cudaGraphExec_t
};

}  // namespace fovea::bench
