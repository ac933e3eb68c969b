// What a call to the CUDA runtime returns, as an error that says what to do.
#pragma once

#include <cuda_runtime_api.h>

#include "base/error.h"

namespace fovea::cuda {

inline void cuda_check(cudaError_t status, const char* what) {
  check(status == cudaSuccess, what, ": ", cudaGetErrorString(status),
        status == cudaErrorNoKernelImageForDevice
            ? "; rebuild with -DCMAKE_CUDA_ARCHITECTURES set to this GPU's compute capability"
            : "");
}

}  // namespace fovea::cuda
