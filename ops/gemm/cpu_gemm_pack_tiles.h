// GEMM packing of A where pairs are multiplied in tiles: a panel becomes [k / 32][kBlockSide
// rows][16 pairs], padded with zeros. Two tiles are adjacent for every 32 values of k, and their
// rows are as in memory.
#pragma once

#include "ops/common/cpu/multiply_add.h"
#include "ops/common/cpu/sizes.h"
#include "ops/common/cpu/tiles.h"
#include "ops/gemm/cpu_gemm_pack.h"
#include "ops/gemm/cpu_gemm_vector.h"

namespace fovea::ops::cpu::FOVEA_ISA {

inline constexpr std::int64_t kTileDepth = 2 * kTileSide;  // values of k

/// Two whole tiles from adjacent rows of a column: squares of pairs are transposed in registers.
inline void pack_columns(const bf16* src, std::int64_t step, Bf16Pair* dst) {
  using Halves = Vector<std::uint16_t, kVectorBytes / 2>;
  for (std::int64_t k = 0; k < kTileSide; k += kLanes<float>) {
    for (std::int64_t row = 0; row < kBlockSide; row += kLanes<float>) {
      Words<Bf16Pair> square[kLanes<float>];
      for (int i = 0; i < kLanes<float>; ++i) {
        const bf16* at = src + 2 * (k + i) * step + row;
        square[i] = pairs(load<Halves>(&at->bits), load<Halves>(&at[step].bits));
      }
      transpose(square);
      for (int i = 0; i < kLanes<float>; ++i)
        store_words(dst + (row + i) * kTileSide + k, square[i]);
    }
  }
}

/// Two tiles of which s.count rows and s.depth values of k exist.
inline void pack_two_tiles(const bf16* src, const Lines& s, Bf16Pair* dst) {
  if (s.line == 1 && s.count == kBlockSide && s.depth == kTileDepth)
    return pack_columns(src, s.step, dst);
  for (std::int64_t i = 0; i < kBlockSide; ++i) {
    bf16 row[kTileDepth] = {};
    if (i < s.count && s.step == 1) {
      __builtin_memcpy(row, src + i * s.line, static_cast<std::size_t>(s.depth) * sizeof *row);
    } else if (i < s.count) {
      for (std::int64_t k = 0; k < s.depth; ++k) row[k] = src[i * s.line + k * s.step];
    }
    __builtin_memcpy(static_cast<void*>(dst + i * kTileSide), row, sizeof row);
  }
}

/// Packs all rows into panels, with `stride` between them.
inline void pack_tiles(const bf16* src, const Lines& s, Bf16Pair* dst, std::int64_t stride) {
  for (std::int64_t i = 0; i < s.count; i += kBlockSide, dst += stride) {
    for (std::int64_t k = 0; k < s.depth; k += kTileDepth) {
      const Lines part{s.line, s.step, smaller(kBlockSide, s.count - i),
                       smaller(kTileDepth, s.depth - k)};
      pack_two_tiles(src + i * s.line + k * s.step, part,
                     dst + k / kTileDepth * kTileSide * kBlockSide);
    }
  }
}

}  // namespace fovea::ops::cpu::FOVEA_ISA
