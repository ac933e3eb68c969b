// Detection of the processor's instruction sets, and the FOVEA_ISA override.
#include "engine/cpu_isa.h"

#include <cstdlib>

#include "engine/amx.h"
#include "engine/base/error.h"

namespace fovea {
namespace {

/// Whether the processor has the instructions that `isa` adds to the set below it.
bool has_extensions_of(Isa isa) {
  __builtin_cpu_init();
  switch (isa) {
    case Isa::v2:
    case Isa::v4bf16_twin:
    case Isa::amx_twin:
      return true;
    case Isa::v3:
      return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    case Isa::v4:
      return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
             __builtin_cpu_supports("avx512vl");
    case Isa::v4bf16:  // Intel's VDPBF16PS takes longer than the f32 products that it replaces
      return __builtin_cpu_is("amd") && __builtin_cpu_supports("avx512bf16");
    case Isa::amx:
      return processor_has_amx() && amx_refusal().empty();
  }
  return false;
}

/// The best set that `holds` accepts, no twin.
template <class Holds>
Isa best_where(const Holds& holds) {
  Isa best = kNames<Isa>.front().value;
  for (const Named<Isa>& entry : kNames<Isa>) {
    const bool is_twin = instructions_of(entry.value) != entry.value;
    if (!is_twin && holds(entry.value)) best = entry.value;
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

/// The value of FOVEA_ISA, or empty.
std::string wish() {
  const char* value = std::getenv("FOVEA_ISA");
  return value == nullptr ? "" : value;
}

/// "; the kernel refuses ..." where that is why the processor lacks `isa`.
std::string reason_against(Isa isa) {
  const bool is_refused = isa == Isa::amx && processor_has_amx() && !amx_refusal().empty();
  return is_refused ? "; " + amx_refusal() : "";
}

Isa choose() {
  const std::string name = wish();
  if (name.empty()) {
    return best_where([](Isa isa) { return is_built(isa) && processor_has(isa); });
  }
  const std::optional<Isa> wished = find_named<Isa>(name);
  check(wished.has_value(), "FOVEA_ISA=", name, ": expected ",
        names_where([](Isa) { return true; }));
  check(processor_has(*wished), "FOVEA_ISA=", name, ": this processor supports ", supported_isas(),
        reason_against(*wished));
  return *wished;
}

}  // namespace

bool processor_has(Isa isa) {
  const std::optional<Isa> rest = below(isa);
  return has_extensions_of(isa) && (!rest || processor_has(*rest));
}

Isa processor_isa() { return best_where(processor_has); }

std::string supported_isas() { return names_where(processor_has); }

bool is_built(Isa isa) {
  constexpr std::string_view kBuilt = " " FOVEA_ISAS " ";
  return kBuilt.find(" " + std::string(to_string(isa)) + " ") != std::string_view::npos;
}

Isa cpu_isa() {
  static const Isa chosen = choose();
  return chosen;
}

std::string isa_notice() {
  if (!wish().empty() || !is_built(Isa::amx) || reason_against(Isa::amx).empty()) return "";
  return amx_refusal() + ": computing with " + std::string(to_string(cpu_isa())) +
         "; Linux 5.16 or later grants them, unless a container forbids arch_prctl";
}

std::string_view to_string(Isa isa) { return kNames<Isa>[static_cast<std::size_t>(isa)].name; }

}  // namespace fovea
