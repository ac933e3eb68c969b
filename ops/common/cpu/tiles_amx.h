// The tile registers of AMX.
#pragma once

#include <cstdint>

#include "ops/common/cpu/multiply_add.h"

namespace fovea::ops::cpu::FOVEA_ISA {

/// While it is alive, the registers of this thread are tiles of 16 rows of 64 bytes.
class AmxSession {
 public:
  AmxSession() {
    struct {
      std::uint8_t palette = 1, first_row = 0, reserved[14] = {};
      std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
      std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
    } const shape;
    static_assert(sizeof shape == 64);
    asm volatile("ldtilecfg %0" ::"m"(shape));
  }
  ~AmxSession() { asm volatile("tilerelease"); }
  AmxSession(const AmxSession&) = delete;
  AmxSession& operator=(const AmxSession&) = delete;
};

/// The eight registers. They belong to the thread: this object holds nothing. GCC 12 takes their
/// numbers as text in its intrinsics, so the instructions are written out.
class AmxTiles {
 public:
  template <int kTo>
  [[gnu::always_inline]] void clear() {
    asm volatile("tilezero %%tmm%c0" ::"i"(kTo));
  }
  /// Loads 16 rows of 16 words, `row` words apart.
  template <int kTo, class Word>
  [[gnu::always_inline]] void load(const Word* from, std::int64_t row) {
    asm volatile("tileloadd (%1,%2,1), %%tmm%c0" ::"i"(kTo), "r"(from), "r"(row * 4) : "memory");
  }
  template <int kFrom>
  [[gnu::always_inline]] void store(float* to, std::int64_t row) const {
    asm volatile("tilestored %%tmm%c0, (%1,%2,1)" ::"i"(kFrom), "r"(to), "r"(row * 4) : "memory");
  }
  /// sum += a b, with pairs of bf16 in a [16 rows, 16 steps] and b [16 steps, 16 columns].
  template <int kSum, int kA, int kB>
  [[gnu::always_inline]] void add_product() {
    asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kSum), "i"(kA), "i"(kB));
  }
};

}  // namespace fovea::ops::cpu::FOVEA_ISA
