// Whether the processor has AVX2, for functions that are compiled for it. Private to data/.
#pragma once

#if defined(__x86_64__)

#include <immintrin.h>

namespace fovea {

[[nodiscard]] inline bool has_avx2() {
  static const bool has = __builtin_cpu_supports("avx2") != 0;
  return has;
}

}  // namespace fovea

#endif
