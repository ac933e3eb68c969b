// Turns CUDA runtime status codes into errors that name the op and suggest what to do.
#pragma once

#include <cuda_runtime_api.h>

namespace fovea::cuda {

[[noreturn]] void fail_with(cudaError_t status, const char* what);

/// `what` is the name of the CUDA call or of the operation.
inline void cuda_check(cudaError_t status, const char* what) {
  if (status != cudaSuccess) [[unlikely]]
    fail_with(status, what);
}

}  // namespace fovea::cuda
