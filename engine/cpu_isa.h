// The instruction sets that kernels are compiled for, and the choice between them at run time.
#pragma once

#include <array>
#include <string_view>

#include "engine/base/names.h"

namespace fovea {

/// In ascending order: each includes the ones before it. cmake/FoveaIsas.cmake lists their
/// compiler flags and the kernel families that each compiles for itself.
enum class Isa {
  v2,  ///< SSE4.2
  v3,  ///< AVX2, FMA
  v4,  ///< AVX-512 F, BW, CD, DQ, VL
};
template <>
inline constexpr auto kNames<Isa> =
    std::to_array<Named<Isa>>({{Isa::v2, "v2"}, {Isa::v3, "v3"}, {Isa::v4, "v4"}});

/// Whether the processor supports the extensions that `isa` adds to the one before it.
[[nodiscard]] inline bool processor_has(Isa isa) {
  __builtin_cpu_init();
  switch (isa) {
    case Isa::v2:
      return true;
    case Isa::v3:
      return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    case Isa::v4:
      return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
             __builtin_cpu_supports("avx512vl");
  }
  return false;
}

/// The best set that the processor supports, or a lower one chosen by FOVEA_ISA=<name> in the
/// environment. Throws Error when that name is unknown or the processor does not support it.
[[nodiscard]] Isa cpu_isa();
/// "v2", "v3" or "v4".
[[nodiscard]] std::string_view to_string(Isa isa);

}  // namespace fovea
