// How many tiles AMX's kernels multiply, load and store, beside the least.
#include <doctest/doctest.h>

#include <array>
#include <tuple>

#include "engine/parallel.h"
#include "ops/common/cpu/tile_counts.h"
#include "tests/ops/bf16_calls.h"
#include "tests/ops/emulated_amx.h"
#include "tests/support/least_tiles.h"

using namespace fovea;
using namespace fovea::test;
using ops::cpu::TileCounts;

namespace {

/// What the twin of AMX takes for attended().
TileCounts counts_of_attention(std::int64_t queries, std::int64_t keys, std::int64_t width) {
  ops::cpu::tile_counts() = {};
  std::ignore = attended(Isa::amx_twin, queries, keys, width);
  return ops::cpu::tile_counts();
}

}  // namespace

TEST_CASE("a product in tiles takes the least number of tile products and loads" *
          doctest::skip(lacks(Isa::amx_twin))) {
  const OneThread alone;
  for (const Sizes sizes : {Sizes{64, 192, 192}, {65, 70, 75}, {16, 16, 32}, {1, 1, 1}}) {
    const Product p(sizes, 6, near_one);
    ops::cpu::tile_counts() = {};
    std::ignore = p.on(Isa::amx_twin);
    const TileCounts counts = ops::cpu::tile_counts();
    const TileCounts least = least_tiles(sizes.m, sizes.n, sizes.k);
    CHECK(counts.products == least.products);
    CHECK(counts.loads == least.loads);
    CHECK(counts.stores == least.stores);
  }
}

TEST_CASE("attention multiplies and loads few more tiles than the least" *
          doctest::skip(lacks(Isa::amx_twin))) {
  const OneThread alone;
  for (const auto& [queries, keys, width] :
       {std::array<std::int64_t, 3>{64, 64, 64}, {197, 197, 64}, {65, 65, 32}, {37, 601, 25}}) {
    const TileCounts least = least_tiles_of_attention(2, queries, keys, width);
    const TileCounts counts = counts_of_attention(queries, keys, width);
    const TileCounts delta = tiles_of_delta(2, queries, width);
    CHECK(counts.products == least.products + delta.products);
    // Besides delta's loads, those of sums where a further part adds to them: dk and dv for each 72
    // to 96 queries, dq for each 256 keys, the output for each 512.
    CHECK(counts.loads >= least.loads + delta.loads);
    CHECK(static_cast<double>(counts.loads) < 1.1 * static_cast<double>(least.loads));
  }
}

TEST_CASE("amx, its instructions emulated, executes what the twin counts" *
          doctest::skip(!emulates_amx()) *
          doctest::description("needs AVX-512 BF16, and a processor without AMX")) {
  const OneThread alone;
  const TileCounts twin = counts_of_attention(65, 65, 32);
  const EmulatedAmx emulated;
  std::ignore = attended(Isa::amx, 65, 65, 32);
  CHECK(emulated.counts().products == twin.products);
  CHECK(emulated.counts().loads == twin.loads);
  CHECK(emulated.counts().stores == twin.stores);
}
