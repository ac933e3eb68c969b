// The instruction sets that kernels are compiled for, and the choice between them at run time.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "engine/base/names.h"

namespace fovea {

/// Each but the first adds to another: `below`. cmake/FoveaIsas.cmake lists their compiler flags
/// and the kernel families that each compiles for itself. In these a twin has the bits of its
/// original in bf16, computed without the original's instructions: for tests.
enum class Isa {
  v2,           ///< SSE4.2
  v3,           ///< AVX2, FMA
  v4,           ///< AVX-512 F, BW, CD, DQ, VL
  v4bf16_twin,  ///< twin of v4bf16, above v4
  v4bf16,       ///< AVX-512 BF16, on AMD: products of bf16 at twice the rate of f32
  amx_twin,     ///< twin of amx, above v3
  amx,          ///< AMX-TILE and AMX-BF16: products of bf16 in tiles, above v4
};
template <>
inline constexpr auto kNames<Isa> = std::to_array<Named<Isa>>({{Isa::v2, "v2"},
                                                               {Isa::v3, "v3"},
                                                               {Isa::v4, "v4"},
                                                               {Isa::v4bf16_twin, "v4bf16_twin"},
                                                               {Isa::v4bf16, "v4bf16"},
                                                               {Isa::amx_twin, "amx_twin"},
                                                               {Isa::amx, "amx"}});

/// The set that `isa` adds to, or none.
[[nodiscard]] constexpr std::optional<Isa> below(Isa isa) {
  switch (isa) {
    case Isa::v2:
      return std::nullopt;
    case Isa::v3:
      return Isa::v2;
    case Isa::v4:
    case Isa::amx_twin:
      return Isa::v3;
    case Isa::v4bf16_twin:
    case Isa::v4bf16:
    case Isa::amx:
      return Isa::v4;
  }
  return std::nullopt;
}

/// The set whose instructions the kernels of `isa` need: for a twin the one below.
[[nodiscard]] constexpr Isa instructions_of(Isa isa) {
  const bool is_twin = isa == Isa::v4bf16_twin || isa == Isa::amx_twin;
  return is_twin ? *below(isa) : isa;
}

/// Whether `isa` is `part` or adds to it, directly or not.
[[nodiscard]] constexpr bool includes(Isa isa, Isa part) {
  if (isa == part) return true;
  const std::optional<Isa> rest = below(isa);
  return rest && includes(*rest, part);
}

/// Whether the processor supports `isa`, and the operating system lets this process use it.
[[nodiscard]] bool processor_has(Isa isa);
/// The best set that the processor supports, whether the build has it or not.
[[nodiscard]] Isa processor_isa();
/// The sets that the processor supports, e.g. "v2, v3 or v4".
[[nodiscard]] std::string supported_isas();
/// Whether this build has kernels for `isa`: -DFOVEA_ONLY_ISA leaves out others.
[[nodiscard]] bool is_built(Isa isa);

/// The best set that the processor supports and the build has, or another one chosen by
/// FOVEA_ISA=<name> in the environment. Throws Error when that name is unknown or the processor
/// does not support it.
[[nodiscard]] Isa cpu_isa();
/// Why cpu_isa() is not what the processor would allow, for the user; empty where it is, or where
/// FOVEA_ISA chose.
[[nodiscard]] std::string isa_notice();
/// The name, e.g. "v4".
[[nodiscard]] std::string_view to_string(Isa isa);

}  // namespace fovea
