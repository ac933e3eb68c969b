// Selects the kernel table of a device.
#include "ops/kernels.h"

#include <string>

#include "engine/cpu_isa.h"
#include "engine/cuda/runtime.h"
#include "engine/kernel.h"

namespace fovea::ops {
namespace cuda {
extern const Kernels kernels;
}

const Kernels& kernels(Device device) {
  if (!device.is_cpu()) {
    kernels_place() = kCudaPlace;
    fovea::cuda::set_device(device.index);
    return cuda::kernels;
  }
  static const Kernels& chosen = cpu::kernels_of(cpu_isa());
  // Never destroyed: destructors of objects with static lifetime may compute.
  static const auto& place = *new std::string("the CPU with " + std::string(to_string(cpu_isa())));
  kernels_place() = place.c_str();
  return chosen;
}

}  // namespace fovea::ops
