// GEMM tiling: how a product is split, and how one tile is computed. Shared by the schedules of
// cpu_gemm.cpp (one product) and cpu_gemm_pair.cpp (two consecutive products).
//
// k is split into blocks. B is packed block by block into strips of kNr columns that all threads
// read. C is split into tiles of fixed size; the thread that computes a tile packs the rows of A
// that it needs. bf16 operands are converted to f32 during packing.
//
//                                     B  k x n   kNr  kNr  kNr
//                                               +----+----+----+-
//                                         depth |    |    |    |    block 0 of k, in strips
//                                               +----+----+----+-
//                                         depth |    |    |    |    block 1
//                                               +----+----+----+-
//   A  m x k
//        depth     depth                C  m x n
//      +---------+---------+-                   +---------+-----
//   kMr|         |         |   panels           |  +----+ |         a tile: tile_rows x tile_cols
//      +---------+---------+-                   |  |    | |         within it kMr x kNr, summed in
//   kMr|         |         |                    |  +----+ |         registers over one block
//      +---------+---------+-                   +---------+-----
//
// Packed B is [block][strip][k][kNr]: for each k the columns of a strip are adjacent. Packed A is
// [panel][k][kMr]. Each thread packs the panels of its tile (OwnRows); if the columns of A are
// contiguous, all threads share packed panels (Packed::a); or panels are read in place
// (reads_rows, reads_columns). Between two blocks of k the sums of a tile are kept in C if C is
// f32, otherwise in Sums.
#pragma once

#include "engine/parallel.h"
#include "ops/common/cpu/prefetch.h"
#include "ops/common/cpu/scratch.h"
#include "ops/common/cpu/sizes.h"
#include "ops/gemm/call.h"
#include "ops/gemm/cpu_gemm_finish.h"
#include "ops/gemm/cpu_gemm_micro.h"
#include "ops/gemm/cpu_gemm_pack.h"

namespace fovea::ops::cpu::FOVEA_ISA {

inline constexpr std::int64_t kMaxDepth = 512;                // k per block
inline constexpr std::int64_t kMaxTileRows = 56 / kMr * kMr;  // rows of A per tile
inline constexpr std::int64_t kMinTilePanels = 4;  // panels of A per tile, which share a strip of B
inline constexpr std::int64_t kWantedTiles = 16;   // enough tiles for an even load
inline constexpr std::int64_t kPackChunk = 32;     // k packed by one thread at a time

inline constexpr std::int64_t kMinPacked = 1 << 15;  // elements that justify waking a thread

/// Contiguous f32 rows or columns of A need no packing, unless their stride is a multiple of this
/// and maps a whole panel to a few cache sets. Columns of a narrow panel (v2, v3) use a part of
/// each cache line and fill the sets sooner: with a stride of 768, packing makes AVX2 a fifth
/// faster.
inline constexpr std::int64_t kBadStride = 1024;
inline constexpr std::int64_t kBadColumnStride = kMr >= 14 ? kBadStride : 256;
/// Tall panels of row-contiguous A are read in place only if B has few columns: each k touches a
/// cache line per row, which is slower than packing once. Short panels are always read in place.
inline constexpr std::int64_t kFewColumns = kLanes<float> == 16 ? 127 : INT64_MAX;

/// One matrix of the batch and its tiling, which depends on the sizes alone.
struct TiledGemm {
  const GemmCall& call;
  std::int64_t a, b, c;               // offsets of this batch entry, in elements
  std::int64_t depth, blocks;         // k per block, number of blocks
  std::int64_t tile_rows, tile_cols;  // multiples of kMr and kNr

  [[nodiscard]] std::int64_t depth_of(std::int64_t block) const {
    return smaller(depth, call.k - block * depth);
  }
  /// Whether whole panels of A are read in place, row by row or column by column.
  [[nodiscard]] bool reads_rows() const {
    return call.a.dtype == DType::f32 && call.a.col == 1 && call.a.row > 1 &&
           call.a.row % kBadStride != 0 && call.n <= kFewColumns;
  }
  [[nodiscard]] bool reads_columns() const {
    return call.a.dtype == DType::f32 && call.a.row == 1 && call.a.col > 1 &&
           call.a.col % kBadColumnStride != 0;
  }
  [[nodiscard]] Panel panel_in_place(std::int64_t block, std::int64_t row) const {
    const std::int64_t offset = a + row * call.a.row + block * depth * call.a.col;
    return {static_cast<const float*>(call.a.data) + offset, call.a.row, call.a.col};
  }
};

/// The part of B that is packed at one time and, if the columns of A are contiguous, of A.
struct Packed {
  std::int64_t col, cols;      // columns [col, col + cols)
  std::int64_t block, blocks;  // blocks of k [block, block + blocks)
  float* b;                    // [blocks][strips][depth of the block][kNr]
  float* a;                    // [blocks][panels][depth of the block][kMr], or null
  std::int64_t a_row;  // rows from here on are packed in `a`; earlier ones are read in place

  [[nodiscard]] float* strip(const TiledGemm& p, std::int64_t of_block, std::int64_t at_col) const {
    const std::int64_t before = (of_block - block) * p.depth * ceil_div(cols, kNr) * kNr;
    return b + before + (at_col - col) * p.depth_of(of_block);
  }
  [[nodiscard]] float* packed_panel(const TiledGemm& p, std::int64_t of_block,
                                    std::int64_t at_row) const {
    const std::int64_t before =
        (of_block - block) * p.depth * ceil_div(p.call.m - a_row, kMr) * kMr;
    return a + before + (at_row - a_row) * p.depth_of(of_block);
  }
  [[nodiscard]] Panel panel(const TiledGemm& p, std::int64_t of_block, std::int64_t at_row) const {
    if (at_row >= a_row) return {packed_panel(p, of_block, at_row), 1, kMr};
    return p.panel_in_place(of_block, at_row);
  }
};

/// Rows [row, row + rows) and columns [col, col + cols) of C.
struct GemmTile {
  std::int64_t row, rows, col, cols;
};

inline TiledGemm cut(const GemmCall& call, std::int64_t entry) {
  const std::int64_t blocks = larger(1, ceil_div(call.k, kMaxDepth));
  const std::int64_t panels = ceil_div(call.m, kMr), strips = ceil_div(call.n, kNr);
  const std::int64_t tile_panels =
      smaller(kMaxTileRows / kMr, larger(kMinTilePanels, panels / kWantedTiles));
  const std::int64_t row_tiles = larger(1, ceil_div(panels, tile_panels));
  const std::int64_t tile_strips = ceil_div(strips, larger(1, kWantedTiles / row_tiles));
  return {.call = call,
          .a = gemm_batch_offset(call, call.a.batch, entry),
          .b = gemm_batch_offset(call, call.b.batch, entry),
          .c = gemm_batch_offset(call, call.c.batch, entry),
          .depth = ceil_div(call.k, blocks),
          .blocks = blocks,
          .tile_rows = tile_panels * kMr,
          .tile_cols = tile_strips * kNr};
}

/// Packs the lines of an operand that start at `offset` into strips with `stride` between them.
template <int kWidth>
void pack(const GemmOperand& x, std::int64_t offset, const Lines& lines, float* to,
          std::int64_t stride) {
  if (x.dtype == DType::f32) {
    pack_strips<kWidth>(static_cast<const float*>(x.data) + offset, lines, to, stride);
  } else {
    pack_strips<kWidth>(static_cast<const bf16*>(x.data) + offset, lines, to, stride);
  }
}

/// The range [begin, end) of k within one block, counted from the block's start.
struct Depths {
  std::int64_t block, begin, end;
};

/// Packs all required columns of B as strips [depth][kNr].
inline void pack_b(const TiledGemm& p, const Packed& to, const Depths& k) {
  const GemmOperand& b = p.call.b;
  const std::int64_t offset = p.b + (k.block * p.depth + k.begin) * b.row + to.col * b.col;
  pack<kNr>(b, offset, {b.col, b.row, to.cols, k.end - k.begin},
            to.strip(p, k.block, to.col) + k.begin * kNr, p.depth_of(k.block) * kNr);
}

/// Packs the rows [t.row, t.row + t.rows) of A as panels [depth][kMr], the first at `to`.
inline void pack_a(const TiledGemm& p, const GemmTile& t, const Depths& k, float* to) {
  const GemmOperand& a = p.call.a;
  const std::int64_t offset = p.a + t.row * a.row + (k.block * p.depth + k.begin) * a.col;
  pack<kMr>(a, offset, {a.row, a.col, t.rows, k.end - k.begin}, to + k.begin * kMr,
            p.depth_of(k.block) * kMr);
}

/// Packs the data that all tiles share.
inline void pack_shared(const TiledGemm& p, const Packed& to) {
  const std::int64_t chunks = ceil_div(p.depth, kPackChunk);
  const std::int64_t chunk_size =
      kPackChunk * (to.cols + (to.a == nullptr ? 0 : p.call.m - to.a_row));
  parallel_for(to.blocks * chunks, grain(kMinPacked, chunk_size),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i) {
                   const std::int64_t block = to.block + i / chunks, k = i % chunks * kPackChunk;
                   const Depths depths{block, k, smaller(k + kPackChunk, p.depth_of(block))};
                   if (depths.begin >= depths.end) continue;
                   pack_b(p, to, depths);
                   if (to.a == nullptr || to.a_row == p.call.m) continue;
                   const GemmTile rest{to.a_row, p.call.m - to.a_row, 0, 0};
                   pack_a(p, rest, depths, to.packed_panel(p, block, to.a_row));
                 }
               });
}

/// The partial sums of a tile between blocks of k.
struct Sums {
  float* data;
  std::int64_t stride;
};

template <class T>
TileTarget<T> target(const TiledGemm& p, const GemmTile& t, std::int64_t block, const Sums& sums) {
  const GemmCall& call = p.call;
  const std::int64_t at = p.c + t.row * call.c.row + t.col;
  const auto* addend = static_cast<const T*>(call.addend);
  auto* z = static_cast<T*>(call.pre_activation);
  const float* bias = nullptr;
  if (call.bias_kind != GemmBias::none) {
    bias = static_cast<const float*>(call.bias) +
           (call.bias_kind == GemmBias::per_row ? t.row : t.col);
  }
  return {.c = static_cast<T*>(call.c.data) + at,
          .addend = addend == nullptr ? nullptr : addend + at,
          .pre_activation = z == nullptr ? nullptr : z + at,
          .sum = sums.data,
          .c_stride = call.c.row,
          .sum_stride = sums.stride,
          .bias = bias,
          .rows = t.rows,
          .cols = t.cols,
          .first = block == 0,
          .last = block == p.blocks - 1};
}

/// Prefetches the lines of a tile while it is being computed.
template <PrefetchKind kKind, class T>
[[gnu::always_inline]] inline void prefetch_tile(const T* c, const TileTarget<T>& t) {
  for (std::int64_t i = 0; i < t.rows; ++i) prefetch<1, kKind>(c + i * t.c_stride, t.cols);
}

/// Computes one block's contribution to a tile of at most kMr x kNr from a packed panel and strip.
template <class T>
void multiply_small(const TiledGemm& p, std::int64_t block, const TileTarget<T>& t, const Panel& a,
                    const float* b) {
  const std::int64_t depth = p.depth_of(block);
  if (t.last) prefetch_tile<PrefetchKind::write>(t.c, t);
  if (t.first && t.addend != nullptr && t.addend != t.c)
    prefetch_tile<PrefetchKind::read>(t.addend, t);
  if (is_plain(p.call, t)) {
    auto* c = reinterpret_cast<float*>(t.c);
    const auto* addend = reinterpret_cast<const float*>(t.addend);
    multiply_tile(depth, a, b, t.rows, t.cols,
                  {c, t.c_stride, t.first ? addend : c, t.first ? t.bias : nullptr});
    return;
  }
  if (t.last && t.pre_activation != nullptr)
    prefetch_tile<PrefetchKind::write>(t.pre_activation, t);
  alignas(64) float tile[kMr * kNr];
  multiply_tile(depth, a, b, t.rows, t.cols, {tile, kNr, nullptr, nullptr});
  finish_tile(p.call, t, tile);
}

/// The rows of A that one tile packs for itself, from `row` on, counted from the tile's first row;
/// earlier rows are read in place. Without data, all tiles share packed rows.
struct OwnRows {
  float* data;
  std::int64_t row;
};

/// Computes one block's contribution to a tile.
template <class T>
void multiply_panels(const TiledGemm& p, const Packed& packed, std::int64_t block,
                     const GemmTile& t, const Sums& sums, const OwnRows& own) {
  for (std::int64_t j = 0; j < t.cols; j += kNr) {
    const float* strip = packed.strip(p, block, t.col + j);
    for (std::int64_t i = 0; i < t.rows; i += kMr) {
      const Panel panel = own.data == nullptr ? packed.panel(p, block, t.row + i)
                          : i < own.row
                              ? p.panel_in_place(block, t.row + i)
                              : Panel{own.data + (i - own.row) * p.depth_of(block), 1, kMr};
      const GemmTile small{t.row + i, smaller(kMr, t.rows - i), t.col + j,
                           smaller(kNr, t.cols - j)};
      const Sums at{sums.data == nullptr ? nullptr : sums.data + i * sums.stride + j, sums.stride};
      multiply_small(p, block, target<T>(p, small, block, at), panel, strip);
    }
  }
}

inline float* floats(Scratch purpose, std::int64_t count) {
  return static_cast<float*>(scratch(purpose, static_cast<std::size_t>(count) * sizeof(float)));
}

/// Adds the packed blocks of k to one tile of C.
inline void multiply_tile(const TiledGemm& p, const Packed& packed, const GemmTile& t) {
  const bool f32 = p.call.c.dtype == DType::f32;
  OwnRows own{nullptr, p.reads_rows() ? t.rows / kMr * kMr : 0};
  if (packed.a == nullptr) {
    own.data = floats(Scratch::gemm_a, ceil_div(t.rows, kMr) * kMr * p.depth + kLanes<float>);
  }
  Sums sums{nullptr, p.call.c.row};
  if (f32) {
    sums.data = static_cast<float*>(p.call.c.data) + p.c + t.row * sums.stride + t.col;
  } else if (p.blocks > 1) {
    sums = {floats(Scratch::gemm_sum, t.rows * t.cols), t.cols};
  }
  for (std::int64_t block = packed.block; block < packed.block + packed.blocks; ++block) {
    if (own.data != nullptr && own.row < t.rows) {
      const GemmTile rest{t.row + own.row, t.rows - own.row, 0, 0};
      pack_a(p, rest, {block, 0, p.depth_of(block)}, own.data);
    }
    if (f32) {
      multiply_panels<float>(p, packed, block, t, sums, own);
    } else {
      multiply_panels<bf16>(p, packed, block, t, sums, own);
    }
  }
}

}  // namespace fovea::ops::cpu::FOVEA_ISA
