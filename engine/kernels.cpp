// Selects the kernel table of a device.
#include "engine/kernels.h"

#include "engine/cuda/runtime.h"

namespace fovea {
namespace cpu {
extern const DataKernels data_kernels;
}
namespace cuda {
extern const DataKernels data_kernels;
}

const DataKernels& data_kernels(Device device) {
  kernels_place() = device.is_cpu() ? "the CPU" : kCudaPlace;
  if (device.is_cpu()) return cpu::data_kernels;
  cuda::set_device(device.index);
  return cuda::data_kernels;
}

}  // namespace fovea
