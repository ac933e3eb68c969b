// The one matrix-product signature of the CPU: C = alpha * A B (+ bias) (+ addend), then GELU.
//
// A and B are read through arbitrary strides, so transposed and permuted views need no copy. Every
// element of C is summed over k in one fixed order by one thread: the result does not depend on the
// number of threads.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/dtype.h"
#include "ops/cpu/isa.h"

namespace fovea::ops::cpu {

inline constexpr int kGemmBatchAxes = 4;

/// A matrix, or a batch of them; strides count elements.
struct GemmOperand {
  const void* data = nullptr;
  DType dtype = DType::f32;
  std::int64_t row = 0;
  std::int64_t col = 1;
  std::int64_t batch[kGemmBatchAxes] = {};  ///< 0 where repeated
};

/// The result; its columns are adjacent.
struct GemmOutput {
  void* data = nullptr;
  DType dtype = DType::f32;
  std::int64_t row = 0;
  std::int64_t batch[kGemmBatchAxes] = {};
};

enum class GemmBias { none, per_column, per_row };

/// A [m, k] times B [k, n]. dtypes: all f64, or any mixture of f32 and bf16, summed in f32.
struct GemmCall {
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t batch[kGemmBatchAxes] = {1, 1, 1, 1};
  GemmOperand a, b;
  GemmOutput c;
  double alpha = 1;
  const void* addend = nullptr;  ///< optional, laid out as C; C itself to add to what it holds
  GemmBias bias_kind = GemmBias::none;
  const void* bias = nullptr;      ///< f32, or f64 when C is f64
  bool gelu = false;               ///< the erf form, applied last
  void* pre_activation = nullptr;  ///< optional: what GELU was applied to, laid out as C
};

/// Runs the call on the kernel for its dtypes. k = 0 gives the bias (or zero).
void gemm(const GemmCall& call);

/// Two products in a row, each one matrix: the rows of C that `first` computes are the rows of A
/// that `second` reads. They never meet in memory, so first.c has a dtype alone and second.a
/// nothing; the numbers are those of two calls of gemm(). Not for f64. Packs all of both B.
void gemm_pair(const GemmCall& first, const GemmCall& second);

struct GemmKernels {
  void (*run)(const GemmCall& call);
  void (*run_pair)(const GemmCall& first, const GemmCall& second);
};
namespace v2 {
extern const GemmKernels gemm_kernels;
}
namespace v3 {
extern const GemmKernels gemm_kernels;
}
namespace v4 {
extern const GemmKernels gemm_kernels;
}
inline const GemmKernels& gemm_kernels() {
  return select_table(v2::gemm_kernels, v3::gemm_kernels, v4::gemm_kernels);
}

/// The f64 product, on Eigen.
void gemm_f64(const GemmCall& call);

/// Where batch entry `index` of an operand starts, in elements.
[[nodiscard]] std::int64_t gemm_batch_offset(const GemmCall& call, const std::int64_t* strides,
                                             std::int64_t index);

}  // namespace fovea::ops::cpu
