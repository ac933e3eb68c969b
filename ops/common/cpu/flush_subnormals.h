// Arithmetic in which subnormal numbers are zero, for the twins of instructions that compute so.
#pragma once

#include <immintrin.h>

namespace fovea::ops::cpu::FOVEA_ISA {

/// While it is alive, this thread reads and writes subnormal numbers as zero.
class FlushSubnormals {
 public:
  FlushSubnormals() : before_(_mm_getcsr()) {
    _mm_setcsr(before_ | kFlushToZero | kDenormalsAreZero);
    asm volatile("" ::: "memory");
  }
  ~FlushSubnormals() {
    asm volatile("" ::: "memory");
    _mm_setcsr(before_);
  }
  FlushSubnormals(const FlushSubnormals&) = delete;
  FlushSubnormals& operator=(const FlushSubnormals&) = delete;

 private:
  static constexpr unsigned kFlushToZero = 0x8000, kDenormalsAreZero = 0x40;
  unsigned before_;
};

}  // namespace fovea::ops::cpu::FOVEA_ISA
