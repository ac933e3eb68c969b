// Matrix products on CUDA, through cuBLASLt; a build without CUDA links stubs from no_cuda.cpp.
#pragma once

#include "ops/cpu/gemm.h"

namespace fovea::cuda {

/// The call of ops/cpu/gemm.h on device pointers. A and B share a dtype and have adjacent rows or
/// columns; GELU and a bias per row have no CUDA form yet. TF32 stays off.
void gemm(const ops::cpu::GemmCall& call, int device);

}  // namespace fovea::cuda
