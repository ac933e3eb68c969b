// Choosing the kernel of a product by its dtypes.
#include "engine/check.h"
#include "ops/cpu/gemm.h"

namespace fovea::ops::cpu {

void gemm(const GemmCall& call) {
  if (call.c.dtype == DType::f64) {
    gemm_f64(call);
  } else {
    gemm_kernels().run(call);
  }
}

void gemm_pair(const GemmCall& first, const GemmCall& second) {
  check(first.c.dtype != DType::f64 && second.c.dtype != DType::f64, "gemm_pair: got f64");
  check(first.m == second.m && first.n == second.k, "gemm_pair: got ", first.m, " x ", first.n,
        " and ", second.m, " x ", second.k, ", expected the same rows of the same length");
  gemm_kernels().run_pair(first, second);
}

std::int64_t gemm_batch_offset(const GemmCall& call, const std::int64_t* strides,
                               std::int64_t index) {
  std::int64_t offset = 0;
  for (int axis = kGemmBatchAxes - 1; axis >= 0; --axis) {
    offset += index % call.batch[axis] * strides[axis];
    index /= call.batch[axis];
  }
  return offset;
}

}  // namespace fovea::ops::cpu
