// What a call to the CUDA runtime returns, as an error that names the op and says what to do.
#pragma once

#include <cuda_runtime_api.h>

namespace fovea::cuda {

[[noreturn]] void fail_with(cudaError_t status, const char* what);

/// `what`: the call, or what it was to do.
inline void cuda_check(cudaError_t status, const char* what) {
  if (status != cudaSuccess) [[unlikely]]
    fail_with(status, what);
}

}  // namespace fovea::cuda
