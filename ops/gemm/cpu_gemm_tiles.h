// One tile of C: packing of what it needs, its product and its epilogue. Shared by the schedules of
// cpu_gemm.cpp (one product) and cpu_gemm_pair.cpp (two consecutive products).
#pragma once

#include "engine/parallel.h"
#include "ops/common/cpu/prefetch.h"
#include "ops/common/cpu/scratch.h"
#include "ops/common/cpu/sizes.h"
#include "ops/gemm/call.h"
#include "ops/gemm/cpu_gemm_cut.h"
#include "ops/gemm/cpu_gemm_finish.h"
#include "ops/gemm/cpu_gemm_micro.h"
#include "ops/gemm/cpu_gemm_pack.h"
#include "ops/gemm/cpu_gemm_pack_tiles.h"
#include "ops/gemm/cpu_gemm_pending.h"

namespace fovea::ops::cpu::FOVEA_ISA {

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

/// Packs the columns [col, col + cols) of B as strips [step][kNr].
template <class E>
void pack_b(const TiledGemm<E>& p, const Packed<E>& to, const Steps& steps, std::int64_t col,
            std::int64_t cols) {
  const GemmOperand& b = p.call.b;
  const std::int64_t k = p.k_of(steps.block) + steps.begin * kPerStep<E>;
  const Lines lines{b.col, b.row, cols, depth_in(p, steps)};
  const std::int64_t stride = p.depth_of(steps.block) * kNr<E>;
  E* const strips = to.strip(p, steps.block, col) + steps.begin * kNr<E>;
  pack<kNr<E>>(b, p.b + k * b.row + col * b.col, lines, strips, stride);
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

/// Packs B strip by strip, so that columns that are contiguous along k are read in one piece.
template <class E>
void pack_b_by_strip(const TiledGemm<E>& p, const Packed<E>& to) {
  const std::int64_t strips = ceil_div(to.cols, kNr<E>);
  parallel_for(to.blocks * strips, grain(kMinPacked, kNr<E> * p.depth),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i) {
                   const std::int64_t block = to.block + i / strips, at = i % strips * kNr<E>;
                   const Steps whole{block, 0, p.depth_of(block)};
                   pack_b(p, to, whole, to.col + at, smaller(kNr<E>, to.cols - at));
                 }
               });
}

/// Packs the data that all tiles share.
template <class E>
void pack_shared(const TiledGemm<E>& p, const Packed<E>& to) {
  const bool by_strip = p.call.b.row == 1 && p.call.b.col != 1;
  if (by_strip) pack_b_by_strip(p, to);
  const std::int64_t cols = by_strip ? 0 : to.cols,
                     rows = to.a == nullptr ? 0 : p.call.m - to.a_row;
  if (cols + rows == 0) return;
  const std::int64_t chunks = ceil_div(p.depth, kPackChunk);
  parallel_for(to.blocks * chunks, grain(kMinPacked, kPackChunk * (cols + rows)),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i) {
                   const std::int64_t block = to.block + i / chunks, at = i % chunks * kPackChunk;
                   const Steps steps{block, at, smaller(at + kPackChunk, p.depth_of(block))};
                   if (steps.begin >= steps.end) continue;
                   if (cols > 0) pack_b(p, to, steps, to.col, cols);
                   if (rows == 0) continue;
                   const GemmTile rest{to.a_row, rows, 0, 0};
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
  constexpr bool keeps_sums = std::is_same_v<T, float>;  // between blocks
  if (t.last || keeps_sums) prefetch_tile<PrefetchKind::write>(t.c, t);
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

  void multiply(std::int64_t depth, const Panel<E>& a, const Strip<E>& b, const TileTarget<T>& t) {
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
/// earlier rows are read in place. Those before `passing` are packed in passing, while the first
/// strip is multiplied, later ones before. Without data, all tiles share packed rows.
template <class E>
struct OwnRows {
  E* data;
  std::int64_t row, passing;

  [[nodiscard]] bool packs_in_passing() const { return row < passing; }
};

/// What the thread reads after this block of tile `t`, to be prefetched while the panel at row `i`
/// and the strip at column `j` are multiplied: with the last strip, the panel in the next block or
/// tile, unless it is packed for all threads; with earlier ones, lines of B in the next block if
/// the thread packs alone.
template <class E>
NextLines<E> lines_after(const TiledGemm<E>& p, const Packed<E>& packed, std::int64_t block,
                         const GemmTile& t, std::int64_t i, std::int64_t j) {
  const GemmOperand &a = p.call.a, &b = p.call.b;
  const std::int64_t row = t.row + i, below = row + p.tile_rows;
  const bool alone = p.packs_alone();
  const std::int64_t first = alone ? 0 : packed.block;
  const bool is_last = block + 1 == (alone ? p.blocks : first + packed.blocks);
  if (j + kNr<E> >= t.cols) {
    const bool has_lines = a.dtype == kOperand<E> && (a.row == 1 || a.col == 1);
    if (!has_lines || (packed.a != nullptr && row >= packed.a_row)) return {};
    if (!is_last) return p.panel_in_place(block + 1, row).lines();
    if (t.cols < packed.cols || p.call.m < below + kMr<E>) return {};
    return p.panel_in_place(first, below).lines();
  }
  const std::int64_t line = j / kNr<E> * ceil_div(t.rows, kMr<E>) + i / kMr<E>;
  if (!alone || is_last || b.dtype != kOperand<E> || line * kLine<E> >= t.cols) return {};
  return {p.strip_in_place(block + 1, t.col + line * kLine<E>), b.row, 0};
}

/// The panel at row `i` of a tile.
template <class E>
Panel<E> panel_at(const TiledGemm<E>& p, const Packed<E>& packed, std::int64_t block,
                  const GemmTile& t, const OwnRows<E>& own, std::int64_t i, bool is_first) {
  if (own.data == nullptr) return packed.panel(p, block, t.row + i);
  if (i < own.row) return p.panel_in_place(block, t.row + i);
  E* const data = own.data + (i - own.row) * p.depth_of(block);
  if (!is_first || i >= own.passing) return packed_panel<E>(data);
  Panel<E> panel = p.panel_in_place(block, t.row + i);
  panel.copy = data;
  return panel;
}

/// The strip at column `j` of a tile. With `packs` it is read in B, and packed in passing.
template <class E>
Strip<E> strip_at(const TiledGemm<E>& p, const Packed<E>& packed, std::int64_t block,
                  const GemmTile& t, std::int64_t j, bool packs) {
  E* const data = packed.strip(p, block, t.col + j);
  if (!packs) return {data};
  return {p.strip_in_place(block, t.col + j), p.call.b.row, data};
}

/// Computes one block's contribution to a tile of C, and packs in passing what is not packed yet.
template <class T, class E>
void multiply_panels(const TiledGemm<E>& p, const Packed<E>& packed, std::int64_t block,
                     const GemmTile& t, const Sums& sums, const OwnRows<E>& own) {
  std::conditional_t<kInTiles<E>, PendingTile<T, E>, FinishedTile<T, E>> tile(p.call);
  for (std::int64_t j = 0; j < t.cols; j += kNr<E>) {
    const bool packs = own.packs_in_passing() && t.cols - j >= kNr<E>;
    for (std::int64_t i = 0; i < t.rows; i += kMr<E>) {
      Panel<E> panel = panel_at(p, packed, block, t, own, i, j == 0);
      if constexpr (kFetchesNext<E>) panel.next = lines_after(p, packed, block, t, i, j);
      const GemmTile small{t.row + i, smaller(kMr<E>, t.rows - i), t.col + j,
                           smaller(kNr<E>, t.cols - j)};
      const Sums at{sums.data == nullptr ? nullptr : sums.data + i * sums.stride + j, sums.stride};
      const TileTarget<T> to = target<T>(p, small, block, at);
      prefetch_target(to);
      const Strip<E> strip = strip_at(p, packed, block, t, j, packs && i == 0);
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

/// The rows that the tile's thread packs: whole panels in passing, if it packs B, too (`alone`).
template <class E>
OwnRows<E> own_rows(const TiledGemm<E>& p, const Packed<E>& packed, const GemmTile& t, bool alone) {
  if (packed.a != nullptr) return {nullptr, 0, 0};
  const std::int64_t whole = t.rows / kMr<E> * kMr<E>;
  const std::int64_t row = p.reads_rows() ? whole : 0;
  E* const data =
      elements<E>(Scratch::gemm_a, ceil_div(t.rows, kMr<E>) * kMr<E> * p.depth + kLanes<float>);
  return {data, row, alone && p.packs_in_passing() ? whole : row};
}

/// Packs the rows of a tile's block that are not packed in passing.
template <class E>
void pack_own_rows(const TiledGemm<E>& p, std::int64_t block, const GemmTile& t,
                   const OwnRows<E>& own) {
  if (own.data == nullptr || own.passing == t.rows) return;
  const GemmTile rest{t.row + own.passing, t.rows - own.passing, 0, 0};
  pack_a(p, rest, {block, 0, p.depth_of(block)},
         own.data + (own.passing - own.row) * p.depth_of(block));
}

/// Packs the strips of a tile's block that are not packed in passing.
template <class E>
void pack_own_strips(const TiledGemm<E>& p, const Packed<E>& strips, const GemmTile& t,
                     const OwnRows<E>& own) {
  const std::int64_t passing = own.packs_in_passing() ? t.cols / kNr<E> * kNr<E> : 0;
  if (passing == t.cols) return;
  pack_b(p, strips, {strips.block, 0, p.depth_of(strips.block)}, t.col + passing, t.cols - passing);
}

/// Adds the packed blocks of k to one tile of C.
template <class E>
void multiply_tile(const TiledGemm<E>& p, const Packed<E>& packed, const GemmTile& t) {
  const bool f32 = p.call.c.dtype == DType::f32, alone = packed.b == nullptr;
  const OwnRows<E> own = own_rows(p, packed, t, alone);
  Packed<E> strips = alone ? own_strips(p, t) : packed;
  Sums sums{nullptr, p.call.c.row};
  if (f32) {
    sums.data = static_cast<float*>(p.call.c.data) + p.c + t.row * sums.stride + t.col;
  } else if (p.blocks > 1) {
    sums = {elements<float>(Scratch::gemm_sum, t.rows * t.cols), t.cols};
  }
  for (std::int64_t block = packed.block; block < packed.block + packed.blocks; ++block) {
    if (alone) {
      strips.block = block;
      pack_own_strips(p, strips, t, own);
    }
    pack_own_rows(p, block, t, own);
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
