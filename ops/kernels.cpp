// Choosing a table. A new instruction set or kind of device is a line of each list here.
#include "ops/kernels.h"

#include "engine/cpu_isa.h"
#include "engine/cuda/runtime.h"

namespace fovea::ops {
namespace cpu {
namespace v2 {
extern const Kernels kernels;
}
namespace v3 {
extern const Kernels kernels;
}
namespace v4 {
extern const Kernels kernels;
}
}  // namespace cpu
namespace cuda {
extern const Kernels kernels;
}

const Kernels& kernels(Device device) {
  if (!device.is_cpu()) {
    fovea::cuda::set_device(device.index);
    return cuda::kernels;
  }
  switch (cpu_isa()) {
    case Isa::v2:
      return cpu::v2::kernels;
    case Isa::v3:
      return cpu::v3::kernels;
    default:
      return cpu::v4::kernels;
  }
}

}  // namespace fovea::ops
