// Choosing a table.
#include "ops/kernels.h"

#include "engine/cuda/runtime.h"

namespace fovea::ops {
namespace cuda {
extern const Kernels kernels;
}

const Kernels& kernels(Device device) {
  if (!device.is_cpu()) {
    fovea::cuda::set_device(device.index);
    return cuda::kernels;
  }
  static const Kernels& chosen = cpu::kernels_of(cpu_isa());
  return chosen;
}

}  // namespace fovea::ops
