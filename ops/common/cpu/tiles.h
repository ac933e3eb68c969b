// Products of pairs of bf16 in tiles of 16 x 16 words. Of eight tile registers, a block of
// C holds up to 2 x 2, and each step along the depth loads up to two tiles of A and two of B:
//
//                      B  steps x 32   B0 B1
//   A  32 x steps   A0              C  C00 C01
//                   A1                 C10 C11
//
// A step covers 16 pairs. Its products are added to each other before they are added to C, so steps
// are part of the result's bits.
#pragma once

#include <cstdint>

#include "ops/common/cpu/multiply_add.h"

#if defined(FOVEA_ISA_amx)
#include "ops/common/cpu/tiles_amx.h"
#elif defined(FOVEA_ISA_amx_twin)
#include "ops/common/cpu/tiles_twin.h"
#endif

namespace fovea::ops::cpu::FOVEA_ISA {

/// The registers, and what exists on a thread while it uses them.
#if defined(FOVEA_ISA_amx)
using TileRegisters = AmxTiles;
using TileSession = AmxSession;
#elif defined(FOVEA_ISA_amx_twin)
using TileRegisters = TwinTiles;
using TileSession = PlainArithmetic;
#else
struct TileRegisters {};
using TileSession = PlainArithmetic;
#endif

/// Rows, columns and pairs along the depth of a tile.
inline constexpr std::int64_t kTileSide = 16;
/// Rows and columns of a block of C.
inline constexpr std::int64_t kBlockSide = 2 * kTileSide;

/// Exists on a thread while it multiplies E; creating it is too slow for each block.
template <class E>
using Session = std::conditional_t<kInTiles<E>, TileSession, PlainArithmetic>;

/// c [rows, columns] = (add ? c : 0) + a b. The pair at row i of A and pair k of step s is
/// a[i * a_row + s * a_step + k]; B and C are row-major, their rows b_row and c_row apart. Rows and
/// columns, at most kBlockSide, are rounded up to whole tiles: their excess is read and
/// overwritten.
template <class E>
struct BlockProduct {
  std::int64_t rows, columns, steps;
  const E* a;
  std::int64_t a_row, a_step;
  const E* b;
  std::int64_t b_row;
  float* c;
  std::int64_t c_row;
  bool add = false;
};

template <int kIndex>
struct TileIndex {
  static constexpr int value = kIndex;
};
/// Calls f(TileIndex<0>{}) and, if there are two, f(TileIndex<1>{}).
template <int kCount, class F>
[[gnu::always_inline]] inline void for_tiles(const F& f) {
  f(TileIndex<0>{});
  if constexpr (kCount == 2) f(TileIndex<1>{});
}

/// The product of a block of kDown x kAcross tiles. Registers: C 0 to 3, A 4 and 5, B 6 and 7.
template <class Registers, int kDown, int kAcross, class E, class Beside>
inline void multiply_tiles(const BlockProduct<E>& p, const Beside& beside) {
  constexpr int kA = 4, kB = 6;
  Registers tiles;
  const auto for_sums = [&](const auto& f) {
    for_tiles<kDown>([&](auto i) {
      for_tiles<kAcross>([&](auto j) {
        constexpr int kSum = 2 * decltype(i)::value + decltype(j)::value;
        float* c = p.c + decltype(i)::value * kTileSide * p.c_row + decltype(j)::value * kTileSide;
        f(TileIndex<kSum>{}, c);
      });
    });
  };
  for_sums([&](auto sum, float* c) {
    if (p.add) {
      tiles.template load<decltype(sum)::value>(c, p.c_row);
    } else {
      tiles.template clear<decltype(sum)::value>();
    }
  });
  for (std::int64_t step = 0; step < p.steps; ++step) {
    const E *a = p.a + step * p.a_step, *b = p.b + step * kTileSide * p.b_row;
    for_tiles<kAcross>([&](auto j) {
      constexpr int kJ = decltype(j)::value;
      tiles.template load<kB + kJ>(b + kJ * kTileSide, p.b_row);
    });
    for_tiles<kDown>([&](auto i) {
      constexpr int kI = decltype(i)::value;
      tiles.template load<kA + kI>(a + kI * kTileSide * p.a_row, p.a_row);
      for_tiles<kAcross>([&](auto j) {
        constexpr int kJ = decltype(j)::value;
        tiles.template add_product<2 * kI + kJ, kA + kI, kB + kJ>();
      });
    });
    beside(step);
  }
  for_sums([&](auto sum, float* c) { tiles.template store<decltype(sum)::value>(c, p.c_row); });
}

/// The product of the smallest block that covers the rows and columns. beside(step) follows the
/// products of each step: what it computes in vectors runs at the same time.
template <class E, class Beside>
inline void multiply_block(const BlockProduct<E>& p, const Beside& beside) {
  if (p.rows > kTileSide) {
    if (p.columns > kTileSide) return multiply_tiles<TileRegisters, 2, 2>(p, beside);
    return multiply_tiles<TileRegisters, 2, 1>(p, beside);
  }
  if (p.columns > kTileSide) return multiply_tiles<TileRegisters, 1, 2>(p, beside);
  multiply_tiles<TileRegisters, 1, 1>(p, beside);
}
template <class E>
inline void multiply_block(const BlockProduct<E>& p) {
  multiply_block(p, [](std::int64_t) {});
}

}  // namespace fovea::ops::cpu::FOVEA_ISA
