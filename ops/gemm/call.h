// The GEMM signature, C = alpha * A B (+ bias) (+ addend), then GELU, and the arguments of the
// other kernels of this family.
//
// A and B are read through arbitrary strides, so transposed and permuted views need no copy. Each
// element of C is summed over k in a fixed order by one thread: the result does not depend on the
// number of threads.
#pragma once

#include <cstdint>

#include "engine/divide.h"
#include "engine/dtype.h"
#include "engine/kernel.h"

namespace fovea::ops {

inline constexpr int kGemmBatchAxes = 4;

/// A matrix or a batch of matrices; strides count elements.
struct GemmOperand {
  const void* data = nullptr;
  DType dtype = DType::f32;
  std::int64_t row = 0;
  std::int64_t col = 1;
  std::int64_t batch[kGemmBatchAxes] = {};  ///< strides; 0 where repeated
};

/// The result; its rows are contiguous.
struct GemmOutput {
  void* data = nullptr;
  DType dtype = DType::f32;
  std::int64_t row = 0;
  std::int64_t batch[kGemmBatchAxes] = {};
};

enum class GemmBias { none, per_column, per_row };
enum class GemmActivation { none, gelu, gelu_tanh };

/// C from A [m, k] and B [k, n]. dtypes: all f64, or any mixture of f32 and bf16, summed in f32.
struct GemmCall {
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t batch[kGemmBatchAxes] = {1, 1, 1, 1};
  GemmOperand a, b;
  GemmOutput c;
  double alpha = 1;
  const void* addend = nullptr;  ///< optional, laid out as C; pass C itself to accumulate
  GemmBias bias_kind = GemmBias::none;
  const void* bias = nullptr;  ///< f32, or f64 when C is f64
  bool bias_is_bf16 = false;   ///< if GemmKernels::takes_bf16_bias, and C is bf16
  GemmActivation activation = GemmActivation::none;  ///< applied last; C is then packed
  void* pre_activation = nullptr;  ///< optional: receives its input, laid out as C
};

/// Offset of batch entry `index` of an operand, in elements.
FOVEA_HD inline std::int64_t gemm_batch_offset(const GemmCall& call, const std::int64_t* strides,
                                               std::int64_t index) {
  std::int64_t offset = 0;
  for (int axis = kGemmBatchAxes - 1; axis >= 0; --axis) {
    const Division place = divide(index, call.batch[axis]);
    offset += place.remainder * strides[axis];
    index = place.quotient;
  }
  return offset;
}

/// Two consecutive products, each of single matrices, not in f64: the rows of C that `first`
/// computes are the rows of A that `second` reads. This intermediate is never stored as a whole,
/// so first.c only has a dtype and second.a is empty; the results equal those of two calls. Packs
/// both B completely.
struct GemmPairCall {
  GemmCall first, second;
};

/// sums[j] = sum over rows of a packed x [rows, cols], in f64 for f64 and otherwise f32; the order
/// of addition is fixed.
struct ColumnSumsCall {
  DType dtype = DType::f32;
  std::int64_t rows = 0, cols = 0;
  const void* x = nullptr;
  void* sums = nullptr;
};

/// dz = dy gelu'(z), packed [rows, cols], and sums [parts(), cols] in f64 for f64 and otherwise
/// f32: the column sums of each `rows_a_part` rows of dz.
struct GeluGradCall {
  DType dtype = DType::f32;
  bool is_erf = true;
  std::int64_t rows = 0, cols = 0, rows_a_part = 1;
  const void* z = nullptr;
  const void* dy = nullptr;
  void* dz = nullptr;
  void* sums = nullptr;

  [[nodiscard]] FOVEA_HD std::int64_t parts() const {
    return (rows + rows_a_part - 1) / rows_a_part;
  }
};

/// Images [batch, channels, grid * patch] and their patches as rows, [batch, grid_y, grid_x,
/// channels, patch_y, patch_x].
struct PatchesCall {
  std::int64_t batch = 0, channels = 0;
  std::int64_t grid[2], patch[2];
  DType dtype = DType::f32;
  void* images = nullptr;
  void* rows = nullptr;
};

struct GemmKernels {
  Kernel<GemmCall> multiply;  ///< k = 0 gives the bias (or zero)
  Kernel<GemmPairCall> multiply_pair;
  Kernel<ColumnSumsCall> column_sums;
  Kernel<PatchesCall> images_to_rows, rows_to_images;
  Kernel<GeluGradCall> gelu_grad;  ///< null on the CPU, where sums are not late
  bool takes_bf16_bias = false;    ///< for a bf16 result: cheaper than a conversion in each call
};

}  // namespace fovea::ops
