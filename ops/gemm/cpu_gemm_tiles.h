// GEMM tiling: how a product is split, and how one tile is computed. Shared by the schedules of
// cpu_gemm.cpp (one product) and cpu_gemm_pair.cpp (two consecutive products).
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
// shared (packs_alone). Between two blocks of k the sums of a tile are kept in C if C is f32,
// otherwise in Sums.
#pragma once

#include "engine/parallel.h"
#include "ops/common/cpu/prefetch.h"
#include "ops/common/cpu/scratch.h"
#include "ops/common/cpu/sizes.h"
#include "ops/gemm/call.h"
#include "ops/gemm/cpu_gemm_finish.h"
#include "ops/gemm/cpu_gemm_micro.h"
#include "ops/gemm/cpu_gemm_pack.h"
#include "ops/gemm/cpu_gemm_pack_tiles.h"
#include "ops/gemm/cpu_gemm_pending.h"

namespace fovea::ops::cpu::FOVEA_ISA {

/// Steps per block of k. A strip of that depth, if multiplied in tiles, stays in the L1 cache.
template <class E>
inline constexpr std::int64_t kMaxDepth = kInTiles<E> ? 256 : 512;
/// Panels of A per tile.
template <class E>
inline constexpr std::int64_t kMaxTilePanels = kInTiles<E> ? 4 : 56 / kVectorRows;
inline constexpr std::int64_t kMinTilePanels = 4;  // panels of A per tile, which share a strip of B
inline constexpr std::int64_t kWantedTiles = 16;   // enough tiles for an even load
inline constexpr std::int64_t kPackChunk = 32;     // steps packed by one thread at a time

inline constexpr std::int64_t kMinPacked = 1 << 15;  // elements that justify waking a thread

/// Contiguous f32 rows or columns of A need no packing, unless their stride is a multiple of this
/// and maps a whole panel to a few cache sets. Columns of a narrow panel (v2, v3) use a part of
/// each cache line and fill the sets sooner: with a stride of 768, packing makes AVX2 a fifth
/// faster.
inline constexpr std::int64_t kBadStride = 1024;
inline constexpr std::int64_t kBadColumnStride = kVectorRows >= 14 ? kBadStride : 256;
/// Tall panels of row-contiguous f32 are read in place only if B has few columns: each k touches a
/// cache line per row, which is slower than packing once, but not on processors that multiply pairs
/// in vectors. Short panels are always read in place, and so are pairs, of which a line holds twice
/// as many k.
template <class E>
inline constexpr std::int64_t kFewColumns = std::is_same_v<E, float>&& kVectorRows >= 14 &&
                                                    (!kMultipliesPairs || kMultipliesTiles)
                                                ? 127
                                                : INT64_MAX;
/// A thread packs all that its tile needs if C has at most so many elements, ...
inline constexpr std::int64_t kSmallResult = 1 << 18;
/// ... and its tiles are so small that a packed block of A and B stays in the level-2 cache.
inline constexpr std::int64_t kMaxOwnPacked = 3 << 16;

/// The type of operands that can be read in place as E.
template <class E>
inline constexpr DType kOperand = std::is_same_v<E, Bf16Pair> ? DType::bf16 : DType::f32;

/// One matrix of the batch and its tiling. The order of sums depends on the sizes alone.
template <class E>
struct TiledGemm {
  const GemmCall& call;
  std::int64_t a, b, c;               // offsets of this batch entry, in elements
  std::int64_t depth, blocks;         // steps per block, number of blocks
  std::int64_t tile_rows, tile_cols;  // multiples of kMr and kNr

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
    return stride > 1 && stride % kBadStride != 0 && call.n <= kFewColumns<E>;
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
  [[nodiscard]] Panel<E> panel_in_place(std::int64_t block, std::int64_t row) const {
    const std::int64_t offset = a + row * call.a.row + k_of(block) * call.a.col;
    if constexpr (std::is_same_v<E, Bf16Pair>) {
      const auto* at = static_cast<const bf16*>(call.a.data) + offset;
      return {reinterpret_cast<const E*>(at), call.a.row / kPerStep<E>,
              kInTiles<E> ? kTileSide : 1};
    }
    return {static_cast<const E*>(call.a.data) + offset, call.a.row, call.a.col};
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
  const auto is_small = [&] {
    const std::int64_t rows = panels * kMr<E>, cols = strips * kNr<E>;
    return (rows + cols) * p.depth <= kMaxOwnPacked &&
           ceil_div(m, rows) * ceil_div(n, cols) >= num_threads();
  };
  while (larger(panels, strips) > 1 && !is_small()) {
    const bool is_tall = strips == 1 || (panels > 1 && panels * kMr<E> >= strips * kNr<E>);
    std::int64_t& longer = is_tall ? panels : strips;
    longer = ceil_div(longer, 2);
  }
  p.tile_rows = panels * kMr<E>;
  p.tile_cols = strips * kNr<E>;
}

template <class E>
TiledGemm<E> cut(const GemmCall& call, std::int64_t entry) {
  const std::int64_t depth = steps<E>(call.k), unit = kStepsAtOnce<E>;
  const std::int64_t blocks = larger(1, ceil_div(depth, kMaxDepth<E>));
  const std::int64_t panels = ceil_div(call.m, kMr<E>), strips = ceil_div(call.n, kNr<E>);
  const std::int64_t tile_panels =
      smaller(kMaxTilePanels<E>, larger(kMinTilePanels, panels / kWantedTiles));
  const std::int64_t row_tiles = larger(1, ceil_div(panels, tile_panels));
  const std::int64_t tile_strips = ceil_div(strips, larger(1, kWantedTiles / row_tiles));
  TiledGemm<E> p{.call = call,
                 .a = gemm_batch_offset(call, call.a.batch, entry),
                 .b = gemm_batch_offset(call, call.b.batch, entry),
                 .c = gemm_batch_offset(call, call.c.batch, entry),
                 .depth = ceil_div(depth, blocks * unit) * unit,
                 .blocks = blocks,
                 .tile_rows = tile_panels * kMr<E>,
                 .tile_cols = tile_strips * kNr<E>};
  if (p.packs_alone()) cut_alone(p);
  return p;
}

/// Packs the lines of an operand that start at `offset` into strips with `stride` between them.
template <int kWidth, class E>
void pack(const GemmOperand& x, std::int64_t offset, const Lines& lines, E* to,
          std::int64_t stride) {
  if constexpr (std::is_same_v<E, float>) {
    if (x.dtype == DType::f32)
      return pack_strips<kWidth>(static_cast<const float*>(x.data) + offset, lines, to, stride);
  }
  pack_strips<kWidth>(static_cast<const bf16*>(x.data) + offset, lines, to, stride);
}

/// The steps [begin, end) within one block, counted from the block's start.
struct Steps {
  std::int64_t block, begin, end;
};

/// The values of k in `steps` that exist.
template <class E>
std::int64_t depth_in(const TiledGemm<E>& p, const Steps& steps) {
  return smaller((steps.end - steps.begin) * kPerStep<E>,
                 p.call.k - p.k_of(steps.block) - steps.begin * kPerStep<E>);
}

/// Packs all required columns of B as strips [step][kNr].
template <class E>
void pack_b(const TiledGemm<E>& p, const Packed<E>& to, const Steps& steps) {
  const GemmOperand& b = p.call.b;
  const std::int64_t k = p.k_of(steps.block) + steps.begin * kPerStep<E>;
  const Lines lines{b.col, b.row, to.cols, depth_in(p, steps)};
  const std::int64_t stride = p.depth_of(steps.block) * kNr<E>;
  E* const strips = to.strip(p, steps.block, to.col) + steps.begin * kNr<E>;
  pack<kNr<E>>(b, p.b + k * b.row + to.col * b.col, lines, strips, stride);
  clear_strips<kNr<E>>(lines, steps.end - steps.begin, strips, stride);
}

/// Packs the rows [t.row, t.row + t.rows) of A as panels, the first at `to`.
template <class E>
void pack_a(const TiledGemm<E>& p, const GemmTile& t, const Steps& steps, E* to) {
  const GemmOperand& a = p.call.a;
  const std::int64_t k = p.k_of(steps.block) + steps.begin * kPerStep<E>;
  const std::int64_t offset = p.a + t.row * a.row + k * a.col;
  const Lines lines{a.row, a.col, t.rows, depth_in(p, steps)};
  const std::int64_t stride = p.depth_of(steps.block) * kMr<E>;
  if constexpr (kInTiles<E>) {
    pack_tiles(static_cast<const bf16*>(a.data) + offset, lines, to + steps.begin * kMr<E>, stride);
  } else {
    pack<kMr<E>>(a, offset, lines, to + steps.begin * kMr<E>, stride);
  }
}

/// Packs the data that all tiles share.
template <class E>
void pack_shared(const TiledGemm<E>& p, const Packed<E>& to) {
  const std::int64_t chunks = ceil_div(p.depth, kPackChunk);
  const std::int64_t chunk_size =
      kPackChunk * (to.cols + (to.a == nullptr ? 0 : p.call.m - to.a_row));
  parallel_for(to.blocks * chunks, grain(kMinPacked, chunk_size),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i) {
                   const std::int64_t block = to.block + i / chunks, at = i % chunks * kPackChunk;
                   const Steps steps{block, at, smaller(at + kPackChunk, p.depth_of(block))};
                   if (steps.begin >= steps.end) continue;
                   pack_b(p, to, steps);
                   if (to.a == nullptr || to.a_row == p.call.m) continue;
                   const GemmTile rest{to.a_row, p.call.m - to.a_row, 0, 0};
                   pack_a(p, rest, steps, to.packed_rows(p, block, to.a_row));
                 }
               });
}

/// The partial sums of a tile between blocks of k.
struct Sums {
  float* data;
  std::int64_t stride;
};

template <class T, class E>
TileTarget<T> target(const TiledGemm<E>& p, const GemmTile& t, std::int64_t block,
                     const Sums& sums) {
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

/// Prefetches what the epilogue of a tile reads and writes.
template <class T>
[[gnu::always_inline]] inline void prefetch_target(const TileTarget<T>& t) {
  if (t.last) prefetch_tile<PrefetchKind::write>(t.c, t);
  if (t.first && t.addend != nullptr && t.addend != t.c)
    prefetch_tile<PrefetchKind::read>(t.addend, t);
  if (t.last && t.pre_activation != nullptr)
    prefetch_tile<PrefetchKind::write>(t.pre_activation, t);
}

/// A product in vectors; its epilogue follows at once.
template <class T, class E>
class FinishedTile {
 public:
  explicit FinishedTile(const GemmCall& call) : call_(call) {}

  void multiply(std::int64_t depth, const Panel<E>& a, const E* b, const TileTarget<T>& t) {
    if (is_plain<E>(call_, t)) {
      const TileOutput<T> out{t.c, t.c_stride, t.first ? t.addend : t.c,
                              t.first ? t.bias : nullptr};
      return multiply_tile(depth, a, b, t.rows, t.cols, out);
    }
    alignas(64) float tile[kMr<E> * kNr<E>];
    const TileOutput<float> sums{tile, kNr<E>, nullptr, nullptr};
    multiply_tile(depth, a, b, t.rows, t.cols, sums);
    finish_rows<E>(call_, t, tile, 0, t.rows);
  }

 private:
  const GemmCall& call_;
};

/// The rows of A that one tile packs for itself, from `row` on, counted from the tile's first row;
/// earlier rows are read in place. Without data, all tiles share packed rows.
template <class E>
struct OwnRows {
  E* data;
  std::int64_t row;
};

/// Computes one block's contribution to a tile of C from packed panels and strips.
template <class T, class E>
void multiply_panels(const TiledGemm<E>& p, const Packed<E>& packed, std::int64_t block,
                     const GemmTile& t, const Sums& sums, const OwnRows<E>& own) {
  std::conditional_t<kInTiles<E>, PendingTile<T, E>, FinishedTile<T, E>> tile(p.call);
  for (std::int64_t j = 0; j < t.cols; j += kNr<E>) {
    const E* strip = packed.strip(p, block, t.col + j);
    for (std::int64_t i = 0; i < t.rows; i += kMr<E>) {
      const Panel<E> panel = own.data == nullptr ? packed.panel(p, block, t.row + i)
                             : i < own.row
                                 ? p.panel_in_place(block, t.row + i)
                                 : packed_panel<E>(own.data + (i - own.row) * p.depth_of(block));
      const GemmTile small{t.row + i, smaller(kMr<E>, t.rows - i), t.col + j,
                           smaller(kNr<E>, t.cols - j)};
      const Sums at{sums.data == nullptr ? nullptr : sums.data + i * sums.stride + j, sums.stride};
      const TileTarget<T> to = target<T>(p, small, block, at);
      prefetch_target(to);
      tile.multiply(p.depth_of(block), panel, strip, to);
    }
  }
}

template <class E>
E* elements(Scratch purpose, std::int64_t count) {
  return static_cast<E*>(scratch(purpose, static_cast<std::size_t>(count) * sizeof(E)));
}

/// The strips of a tile whose thread packs alone, one block at a time.
template <class E>
Packed<E> own_strips(const TiledGemm<E>& p, const GemmTile& t) {
  const std::int64_t size = ceil_div(t.cols, kNr<E>) * kNr<E> * p.depth;
  return {.col = t.col,
          .cols = t.cols,
          .block = 0,
          .blocks = 1,
          .b = elements<E>(Scratch::gemm_b, size + kLanes<float>),
          .a = nullptr,
          .a_row = 0};
}

/// Adds the packed blocks of k to one tile of C.
template <class E>
void multiply_tile(const TiledGemm<E>& p, const Packed<E>& packed, const GemmTile& t) {
  const bool f32 = p.call.c.dtype == DType::f32, alone = packed.b == nullptr;
  const bool in_place = p.reads_rows() || (alone && p.reads_columns());
  OwnRows<E> own{nullptr, in_place ? t.rows / kMr<E> * kMr<E> : 0};
  if (packed.a == nullptr) {
    own.data =
        elements<E>(Scratch::gemm_a, ceil_div(t.rows, kMr<E>) * kMr<E> * p.depth + kLanes<float>);
  }
  Packed<E> strips = alone ? own_strips(p, t) : packed;
  Sums sums{nullptr, p.call.c.row};
  if (f32) {
    sums.data = static_cast<float*>(p.call.c.data) + p.c + t.row * sums.stride + t.col;
  } else if (p.blocks > 1) {
    sums = {elements<float>(Scratch::gemm_sum, t.rows * t.cols), t.cols};
  }
  for (std::int64_t block = packed.block; block < packed.block + packed.blocks; ++block) {
    const Steps whole{block, 0, p.depth_of(block)};
    if (alone) {
      strips.block = block;
      pack_b(p, strips, whole);
    }
    if (own.data != nullptr && own.row < t.rows) {
      const GemmTile rest{t.row + own.row, t.rows - own.row, 0, 0};
      pack_a(p, rest, whole, own.data);
    }
    if (f32) {
      multiply_panels<float>(p, strips, block, t, sums, own);
    } else {
      multiply_panels<bf16>(p, strips, block, t, sums, own);
    }
  }
}

/// Calls f(E{}) for the E that the operands of `call` are packed as.
template <class F>
void with_elements(const GemmCall& call, const F& f) {
  if constexpr (kMultipliesPairs) {
    if (call.a.dtype == DType::bf16 && call.b.dtype == DType::bf16) return f(Bf16Pair{});
  }
  f(float{});
}

}  // namespace fovea::ops::cpu::FOVEA_ISA
