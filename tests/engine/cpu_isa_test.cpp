// The tree of instruction sets, and the choice among them.
#include "engine/cpu_isa.h"

#include <doctest/doctest.h>

#include <cstdlib>

#include "engine/amx.h"

using namespace fovea;

TEST_CASE("sets that multiply bf16 stand above the set whose other kernels they use") {
  CHECK(includes(Isa::amx, Isa::v4));
  CHECK(includes(Isa::v4bf16, Isa::v4));
  CHECK(includes(Isa::amx_twin, Isa::v3));
  CHECK_FALSE(includes(Isa::amx_twin, Isa::v4));
  CHECK_FALSE(includes(Isa::amx, Isa::v4bf16));
}

TEST_CASE("a twin needs no more than the set below it, and is chosen on request alone") {
  CHECK(processor_has(Isa::amx_twin) == processor_has(Isa::v3));
  CHECK(processor_has(Isa::v4bf16_twin) == processor_has(Isa::v4));
  if (std::getenv("FOVEA_ISA") == nullptr) {
    CHECK(cpu_isa() != Isa::amx_twin);
    CHECK(cpu_isa() != Isa::v4bf16_twin);
  }
}

TEST_CASE("without AMX in the processor there is nothing to note" *
          doctest::skip(processor_has_amx())) {
  CHECK_FALSE(processor_has(Isa::amx));
  CHECK(isa_notice().empty());
  CHECK(amx_refusal().starts_with("the kernel refuses the registers of AMX ("));
}

TEST_CASE("the set of a processor with AMX is amx, unless a notice says why not" *
          doctest::skip(!processor_has_amx() || !is_built(Isa::amx) ||
                        std::getenv("FOVEA_ISA") != nullptr) *
          doctest::description("needs AMX-BF16")) {
  CHECK((cpu_isa() == Isa::amx) == isa_notice().empty());
}
