// What the processor has, what the environment wishes.
#include "engine/cpu_isa.h"

#include <cstdlib>
#include <string>

#include "base/error.h"

namespace fovea {
namespace {

Isa best_isa() {
  __builtin_cpu_init();
  const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl");
  return v4 ? Isa::v4 : v3 ? Isa::v3 : Isa::v2;
}

Isa choose() {
  const Isa best = best_isa();
  const char* wish = std::getenv("FOVEA_ISA");
  if (wish == nullptr || *wish == '\0') return best;
  for (const Isa isa : {Isa::v2, Isa::v3, Isa::v4}) {
    if (to_string(isa) != wish) continue;
    check(isa <= best, "FOVEA_ISA=", wish, ": this processor supports up to ", to_string(best));
    return isa;
  }
  fail("FOVEA_ISA=", wish, ": expected v2, v3 or v4");
}

}  // namespace

Isa cpu_isa() {
  static const Isa chosen = choose();
  return chosen;
}

std::string_view to_string(Isa isa) {
  constexpr std::string_view names[] = {"v2", "v3", "v4"};
  return names[static_cast<int>(isa)];
}

}  // namespace fovea
