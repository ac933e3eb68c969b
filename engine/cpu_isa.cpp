// Detection of the processor's instruction sets, and the FOVEA_ISA override.
#include "engine/cpu_isa.h"

#include <cstdlib>

#include "engine/base/error.h"

namespace fovea {
namespace {

/// Whether the processor has the instructions that `isa` adds to the set below it.
bool has_extensions_of(Isa isa) {
  __builtin_cpu_init();
  switch (isa) {
    case Isa::v2:
    case Isa::v4bf16_twin:
      return true;
    case Isa::v3:
      return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    case Isa::v4:
      return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
             __builtin_cpu_supports("avx512vl");
    case Isa::v4bf16:  // Intel's VDPBF16PS takes longer than the f32 products that it replaces
      return __builtin_cpu_is("amd") && __builtin_cpu_supports("avx512bf16");
  }
  return false;
}

Isa best_isa() {
  Isa best = kNames<Isa>.front().value;
  for (const Named<Isa>& entry : kNames<Isa>) {
    if (entry.value == Isa::v4bf16_twin) continue;
    if (is_built(entry.value) && processor_has(entry.value)) best = entry.value;
  }
  return best;
}

/// "v2, v3 or v4": the sets that `holds` accepts.
template <class Holds>
std::string names_where(const Holds& holds) {
  std::string text, last;
  for (const Named<Isa>& entry : kNames<Isa>) {
    if (!holds(entry.value)) continue;
    if (!last.empty()) text += (text.empty() ? "" : ", ") + last;
    last = entry.name;
  }
  return text.empty() ? last : text + " or " + last;
}

Isa choose() {
  const char* wish = std::getenv("FOVEA_ISA");
  if (wish == nullptr || *wish == '\0') return best_isa();
  const std::optional<Isa> wished = find_named<Isa>(wish);
  check(wished.has_value(), "FOVEA_ISA=", wish, ": expected ",
        names_where([](Isa) { return true; }));
  check(processor_has(*wished), "FOVEA_ISA=", wish, ": this processor supports ", supported_isas());
  return *wished;
}

}  // namespace

bool processor_has(Isa isa) {
  const std::optional<Isa> rest = below(isa);
  return has_extensions_of(isa) && (!rest || processor_has(*rest));
}

std::string supported_isas() { return names_where(processor_has); }

bool is_built(Isa isa) {
  constexpr std::string_view kBuilt = " " FOVEA_ISAS " ";
  return kBuilt.find(" " + std::string(to_string(isa)) + " ") != std::string_view::npos;
}

Isa cpu_isa() {
  static const Isa chosen = choose();
  return chosen;
}

std::string_view to_string(Isa isa) { return kNames<Isa>[static_cast<std::size_t>(isa)].name; }

}  // namespace fovea
