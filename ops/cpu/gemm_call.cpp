// Choosing the kernel of a product by its dtypes.
#include "ops/cpu/gemm.h"

namespace fovea::ops::cpu {

void gemm(const GemmCall& call) {
  if (call.c.dtype == DType::f64) {
    gemm_f64(call);
  } else {
    gemm_kernels().run(call);
  }
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
