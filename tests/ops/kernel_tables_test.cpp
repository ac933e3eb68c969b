// Tables of instruction sets: a set may have kernels of its own for some families alone. `part` is
// such a set, declared in tests/CMakeLists.txt: order and pool above Isa::FOVEA_BELOW_PART.
#include <doctest/doctest.h>

#include <vector>

#include "engine/cpu_isa.h"
#include "ops/kernels.h"
#include "ops/order/call.h"
#include "ops/pool/call.h"

using namespace fovea;

namespace fovea::ops::cpu::part {
extern const Kernels kernels;
}

TEST_CASE("an instruction set takes the families that it lacks from the set below it") {
  const ops::Kernels& part = ops::cpu::part::kernels;
  const ops::Kernels& below = ops::cpu::kernels_of(Isa::FOVEA_BELOW_PART);
  CHECK(&part.attention == &below.attention);
  CHECK(&part.conv == &below.conv);
  CHECK(&part.deformable == &below.deformable);
  CHECK(&part.elementwise == &below.elementwise);
  CHECK(&part.index == &below.index);
  CHECK(&part.loss == &below.loss);
  CHECK(&part.norm == &below.norm);
  CHECK(&part.gemm == &below.gemm);
  CHECK(&part.pixels == &below.pixels);
  CHECK(&part.reduce == &below.reduce);
  CHECK(&part.resize == &below.resize);
  CHECK(&part.softmax == &below.softmax);
  CHECK(&part.update == &below.update);
  static_assert(sizeof(ops::Kernels) == 15 * sizeof(void*), "a family is missing above");

  CHECK(&part.order != &below.order);
  CHECK(&part.pool != &below.pool);
  CHECK(static_cast<bool>(part.order.first_positions));
  CHECK(static_cast<bool>(part.pool.average));
}

// Compiled with the flags of a set that the processor may lack.
TEST_CASE("the families of such a set compute what they are for" *
          doctest::skip(!processor_has(Isa::FOVEA_BELOW_PART))) {
  const std::vector<float> x{2, 1, 3, 0};
  std::vector<std::int64_t> positions(4, -1);
  ops::cpu::part::kernels.order.first_positions({.order = ops::Order::rising,
                                                 .rows = 1,
                                                 .width = 4,
                                                 .count = 4,
                                                 .x = x.data(),
                                                 .positions = positions.data()});
  CHECK(positions == std::vector<std::int64_t>{3, 1, 0, 2});
}
