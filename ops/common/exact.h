// Arithmetic that has the same bits on every device.
#pragma once

#include "engine/device.h"

namespace fovea::ops::detail::exact {

/// a b, rounded, also if it is added to something: a GPU's compiler would fuse the two. On the CPU
/// the flags of cpu_exact*.cpp prevent that.
FOVEA_HD inline float product(float a, float b) {
#if defined(__CUDA_ARCH__)
  return __fmul_rn(a, b);
#else
  return a * b;
#endif
}

}  // namespace fovea::ops::detail::exact
