// Detection of the processor's instruction sets, and the FOVEA_ISA override.
#include "engine/cpu_isa.h"

#include <cstdlib>
#include <string>

#include "engine/base/error.h"

namespace fovea {
namespace {

Isa best_isa() {
  Isa best = kNames<Isa>.front().value;
  for (const Named<Isa>& entry : kNames<Isa>) {
    if (!processor_has(entry.value)) break;
    best = entry.value;
  }
  return best;
}

/// "v2, v3 or v4".
std::string all_names() {
  constexpr std::size_t kCount = kNames<Isa>.size();
  std::string text;
  for (std::size_t i = 0; i < kCount; ++i) {
    text += i == 0 ? "" : i + 1 == kCount ? " or " : ", ";
    text += kNames<Isa>[i].name;
  }
  return text;
}

Isa choose() {
  const Isa best = best_isa();
  const char* wish = std::getenv("FOVEA_ISA");
  if (wish == nullptr || *wish == '\0') return best;
  const std::optional<Isa> wished = find_named<Isa>(wish);
  check(wished.has_value(), "FOVEA_ISA=", wish, ": expected ", all_names());
  check(*wished <= best, "FOVEA_ISA=", wish, ": this processor supports up to ", to_string(best));
  return *wished;
}

}  // namespace

Isa cpu_isa() {
  static const Isa chosen = choose();
  return chosen;
}

std::string_view to_string(Isa isa) { return kNames<Isa>[static_cast<std::size_t>(isa)].name; }

}  // namespace fovea
