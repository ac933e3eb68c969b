// Instruction sets. Files in ops/cpu/ are compiled once per set, each into its own namespace
// FOVEA_ISA (v2, v3 or v4), and exported as a table of function pointers; isa() chooses at start.
//
// Rule: such a file defines nothing outside namespace fovea::ops::cpu::FOVEA_ISA (or an anonymous
// one) and calls no inline function template of the standard library that could be emitted as a
// shared symbol; tests/isa_symbols.sh checks the objects.
#pragma once

#include <string_view>

namespace fovea::ops::cpu {

enum class Isa { v2, v3, v4 };  ///< SSE4.2; AVX2 + FMA; AVX-512 F, BW, CD, DQ, VL

/// The best that the processor has, lowered by FOVEA_ISA=v2|v3|v4 in the environment.
[[nodiscard]] Isa isa();
[[nodiscard]] std::string_view to_string(Isa isa);

template <class Table>
[[nodiscard]] const Table& select_table(const Table& v2, const Table& v3, const Table& v4) {
  switch (isa()) {
    case Isa::v2:
      return v2;
    case Isa::v3:
      return v3;
    default:
      return v4;
  }
}

}  // namespace fovea::ops::cpu
