// GEMM tiling: how a product is cut into blocks of k and tiles of C, and what is packed when.
//
// k is split into blocks. B is packed block by block into strips of kNr columns that all threads
// read. C is split into tiles of fixed size; the thread that computes a tile packs the rows of A
// that it needs. If both operands are bf16 and the instruction set multiplies pairs of bf16, E is
// Bf16Pair, and two k are one step; otherwise E is float, a step is one k, and bf16 is converted
// during packing.
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
// [panel][k][kMr], or in tiles as in cpu_gemm_pack_tiles.h. Each thread packs the panels of its
// tile (OwnRows); if the columns of A are contiguous, all threads share packed panels (Packed::a);
// or panels are read in place (reads_rows, reads_columns). If C is small and k long, nothing is
// shared (packs_alone), and f32 is packed while it is multiplied for the first time
// (packs_in_passing). Between two blocks of k the sums of a tile are kept in C if C is f32,
// otherwise in Sums.
#pragma once

#include "engine/parallel.h"
#include "ops/common/cpu/sizes.h"
#include "ops/gemm/call.h"
#include "ops/gemm/cpu_gemm_micro.h"

namespace fovea::ops::cpu::FOVEA_ISA {

/// Processors that multiply pairs of bf16 in vectors (Zen) read tall panels in place faster than
/// others with AVX-512.
inline constexpr bool kReadsTallPanels = kMultipliesPairs && !kMultipliesTiles;
/// Whether tall panels of E are packed rather than read in place: f32 with AVX-512, except on Zen.
template <class E>
inline constexpr bool kPacksTallPanels =
    std::is_same_v<E, float>&& kVectorRows >= 14 && !kReadsTallPanels;

/// Steps per block of k. Deep blocks read C less often; in tiles a strip stays in the L1 cache.
template <class E>
inline constexpr std::int64_t kMaxDepth = kInTiles<E>           ? 256
                                          : kPacksTallPanels<E> ? 768
                                                                : 512;
/// ... if packed in passing: with AVX-512 a strip and a panel of that depth fit the L1 cache.
inline constexpr std::int64_t kMaxPassingDepth = kVectorRows >= 14 ? 192 : kMaxDepth<float>;
/// Panels of A per tile.
template <class E>
inline constexpr std::int64_t kMaxTilePanels = kInTiles<E> ? 4 : 56 / kVectorRows;
inline constexpr std::int64_t kMinTilePanels = 4;  // panels of A per tile, which share a strip of B
inline constexpr std::int64_t kWantedTiles = 16;   // enough tiles for an even load
inline constexpr std::int64_t kPackChunk = 32;     // steps packed by one thread at a time

inline constexpr std::int64_t kMinPacked = 1 << 15;  // elements that justify waking a thread

/// Contiguous f32 rows or columns of A need no packing, unless their stride is a multiple of this
/// and maps a whole panel to a few cache sets. Columns use a part of each cache line and fill the
/// sets sooner: with a stride of 768, packing makes AVX2 a fifth faster.
inline constexpr std::int64_t kBadStride = 1024;
inline constexpr std::int64_t kBadColumnStride = kReadsTallPanels ? kBadStride : 256;
/// Tall panels of row-contiguous f32 are read in place only if B has so few columns, or no more
/// columns than rows: each k touches a cache line per row, which is slower than packing once. Short
/// panels are always read in place, and so are pairs, of which a line holds twice as many k.
template <class E>
inline constexpr std::int64_t kFewColumns = kPacksTallPanels<E> ? 127 : INT64_MAX;
/// A thread packs all that its tile needs if C has at most so many elements, ...
inline constexpr std::int64_t kSmallResult = 1 << 20;
/// ... and its tiles have at most so many packed elements in a block of A and B. Smaller tiles
/// would stay in the level-2 cache, but pack the same rows more often.
inline constexpr std::int64_t kMaxOwnPacked = 1 << 19;
/// ... if packed in passing: with AVX-512, a level-2 cache of 2 MB holds such a block and the tile.
inline constexpr std::int64_t kMaxPassingPacked = kVectorRows >= 14 ? 144 << 10 : kMaxOwnPacked;

/// The type of operands that can be read in place as E.
template <class E>
inline constexpr DType kOperand = std::is_same_v<E, Bf16Pair> ? DType::bf16 : DType::f32;

/// One matrix of the batch and its tiling. The order of sums depends on sizes, strides and dtypes,
/// never on threads.
template <class E>
struct TiledGemm {
  const GemmCall& call;
  std::int64_t a, b, c;                       // offsets of this batch entry, in elements
  std::int64_t depth = 0, blocks = 0;         // steps per block, number of blocks
  std::int64_t tile_rows = 0, tile_cols = 0;  // multiples of kMr and kNr

  [[nodiscard]] std::int64_t depth_of(std::int64_t block) const {
    return smaller(depth, steps<E>(call.k) - block * depth);
  }
  /// The first k of a block.
  [[nodiscard]] std::int64_t k_of(std::int64_t block) const { return block * depth * kPerStep<E>; }
  /// Whether whole panels of A are read in place, row by row or column by column.
  [[nodiscard]] bool reads_rows() const {
    if (call.a.dtype != kOperand<E> || call.a.col != 1) return false;
    const bool has_whole_steps = call.k == steps<E>(call.k) * kPerStep<E>;
    if (!has_whole_steps || call.a.row % kPerStep<E> != 0) return false;
    if constexpr (kInTiles<E>) return true;
    const std::int64_t stride = call.a.row / kPerStep<E>;
    return stride > 1 && stride % kBadStride != 0 && call.n <= larger(kFewColumns<E>, call.k);
  }
  [[nodiscard]] bool reads_columns() const {
    return kPerStep<E> == 1 && call.a.dtype == DType::f32 && call.a.row == 1 && call.a.col > 1 &&
           call.a.col % kBadColumnStride != 0;
  }
  /// Whether each thread packs the columns of B, too, that its tile needs: in the sums over many
  /// rows that make a weight's gradient, packed operands are much larger than C, and would leave
  /// the cache before other threads read them.
  [[nodiscard]] bool packs_alone() const {
    const bool has_long_sums = call.k >= larger(call.m, call.n);
    return call.c.dtype == DType::f32 && call.a.row == 1 && call.a.col > 1 && call.b.col == 1 &&
           has_long_sums && call.m * call.n <= kSmallResult;
  }
  /// Whether that thread packs f32 while it multiplies it for the first time, which hides the time
  /// of packing and reads each operand once.
  [[nodiscard]] bool packs_in_passing() const {
    return std::is_same_v<E, float> && packs_alone() && call.a.dtype == DType::f32 &&
           call.b.dtype == DType::f32;
  }
  [[nodiscard]] Panel<E> panel_in_place(std::int64_t block, std::int64_t row) const {
    const std::int64_t offset = a + row * call.a.row + k_of(block) * call.a.col;
    if constexpr (std::is_same_v<E, Bf16Pair>) {
      const auto* at = static_cast<const bf16*>(call.a.data) + offset;
      return {reinterpret_cast<const E*>(at), call.a.row / kPerStep<E>,
              kInTiles<E> ? kTileSide : 1};
    }
    return {static_cast<const E*>(call.a.data) + offset, call.a.row, call.a.col};
  }
  /// The first row of a block of B, from a column on, if B has the type of E.
  [[nodiscard]] const E* strip_in_place(std::int64_t block, std::int64_t col) const {
    return static_cast<const E*>(call.b.data) + b + k_of(block) * call.b.row + col;
  }
};

/// The part of B that is packed at one time and, if the columns of A are contiguous, of A.
template <class E>
struct Packed {
  std::int64_t col, cols;      // columns [col, col + cols)
  std::int64_t block, blocks;  // blocks of k [block, block + blocks)
  E* b;                        // [blocks][strips][steps of the block][kNr], or null (packs_alone)
  E* a;                        // [blocks][panels][steps of the block][kMr], or null
  std::int64_t a_row;  // rows from here on are packed in `a`; earlier ones are read in place

  [[nodiscard]] E* strip(const TiledGemm<E>& p, std::int64_t of_block, std::int64_t at_col) const {
    const std::int64_t before = (of_block - block) * p.depth * ceil_div(cols, kNr<E>) * kNr<E>;
    return b + before + (at_col - col) * p.depth_of(of_block);
  }
  [[nodiscard]] E* packed_rows(const TiledGemm<E>& p, std::int64_t of_block,
                               std::int64_t at_row) const {
    const std::int64_t before =
        (of_block - block) * p.depth * ceil_div(p.call.m - a_row, kMr<E>) * kMr<E>;
    return a + before + (at_row - a_row) * p.depth_of(of_block);
  }
  [[nodiscard]] Panel<E> panel(const TiledGemm<E>& p, std::int64_t of_block,
                               std::int64_t at_row) const {
    if (at_row >= a_row) return packed_panel(packed_rows(p, of_block, at_row));
    return p.panel_in_place(of_block, at_row);
  }
};

/// Rows [row, row + rows) and columns [col, col + cols) of C.
struct GemmTile {
  std::int64_t row, rows, col, cols;
};

/// Tiles for threads that pack alone: C is halved until each thread has one, and its packed block
/// is small enough. No element depends on its tile.
template <class E>
void cut_alone(TiledGemm<E>& p) {
  const std::int64_t m = p.call.m, n = p.call.n;
  std::int64_t panels = ceil_div(m, kMr<E>), strips = ceil_div(n, kNr<E>);
  const std::int64_t max_packed = p.packs_in_passing() ? kMaxPassingPacked : kMaxOwnPacked;
  for (;;) {
    const std::int64_t rows = smaller(m, panels * kMr<E>), cols = smaller(n, strips * kNr<E>);
    const bool is_small = (rows + cols) * p.depth <= max_packed &&
                          ceil_div(m, rows) * ceil_div(n, cols) >= num_threads();
    if (is_small || larger(panels, strips) == 1) break;
    const bool is_tall = strips == 1 || (panels > 1 && rows >= cols);
    std::int64_t& longer = is_tall ? panels : strips;
    longer = ceil_div(longer, 2);
  }
  p.tile_rows = panels * kMr<E>;
  p.tile_cols = strips * kNr<E>;
}

template <class E>
TiledGemm<E> cut(const GemmCall& call, std::int64_t entry) {
  TiledGemm<E> p{.call = call,
                 .a = gemm_batch_offset(call, call.a.batch, entry),
                 .b = gemm_batch_offset(call, call.b.batch, entry),
                 .c = gemm_batch_offset(call, call.c.batch, entry)};
  const std::int64_t depth = steps<E>(call.k), unit = kStepsAtOnce<E>;
  p.blocks = larger(1, ceil_div(depth, p.packs_in_passing() ? kMaxPassingDepth : kMaxDepth<E>));
  p.depth = ceil_div(depth, p.blocks * unit) * unit;
  if (p.packs_alone()) {
    cut_alone(p);
    return p;
  }
  const std::int64_t panels = ceil_div(call.m, kMr<E>), strips = ceil_div(call.n, kNr<E>);
  const std::int64_t tile_panels =
      smaller(kMaxTilePanels<E>, larger(kMinTilePanels, panels / kWantedTiles));
  const std::int64_t row_tiles = larger(1, ceil_div(panels, tile_panels));
  const std::int64_t tile_strips = ceil_div(strips, larger(1, kWantedTiles / row_tiles));
  p.tile_rows = tile_panels * kMr<E>;
  p.tile_cols = tile_strips * kNr<E>;
  return p;
}

}  // namespace fovea::ops::cpu::FOVEA_ISA
