// Files in ops/cpu/ are compiled once per instruction set, each into its own namespace FOVEA_ISA
// (v2, v3 or v4), and exported as a table of function pointers, of which cpu_isa() chooses one.
//
// Rule: such a file defines nothing outside namespace fovea::ops::cpu::FOVEA_ISA (or an anonymous
// one) and calls no inline function template of the standard library that could be emitted as a
// shared symbol; tests/isa_symbols.sh checks the objects.
#pragma once

#include "engine/cpu_isa.h"

namespace fovea::ops::cpu {

template <class Table>
[[nodiscard]] const Table& select_table(const Table& v2, const Table& v3, const Table& v4) {
  switch (cpu_isa()) {
    case Isa::v2:
      return v2;
    case Isa::v3:
      return v3;
    default:
      return v4;
  }
}

}  // namespace fovea::ops::cpu
