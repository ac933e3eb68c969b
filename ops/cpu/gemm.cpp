// The blocked f32 product (after Goto and van de Geijn), compiled once per instruction set.
//
// B is packed once, in blocks of k, into strips of kNr columns that all threads read. C is cut into
// tiles of fixed size; the thread that computes a tile packs the rows of A that it needs. bf16
// operands become f32 while they are packed.
#include "ops/cpu/gemm.h"

#include "engine/parallel.h"
#include "ops/cpu/gemm_finish.h"
#include "ops/cpu/gemm_micro.h"
#include "ops/cpu/gemm_pack.h"
#include "ops/cpu/scratch.h"

namespace fovea::ops::cpu::FOVEA_ISA {
namespace {

constexpr std::int64_t kMaxDepth = 384;         // k per block: a strip of B fits the L1 cache
constexpr std::int64_t kMaxPacked = 2 << 20;    // floats of packed B at a time
constexpr std::int64_t kMaxTileRows = 8 * kMr;  // rows of A per tile: half an L2 cache
constexpr std::int64_t kWantedTiles = 16;       // so that several threads share them evenly
constexpr std::int64_t kSerialBatch = 1 << 22;  // multiply-adds above which one product is split

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
constexpr std::int64_t smaller(std::int64_t a, std::int64_t b) { return a < b ? a : b; }
constexpr std::int64_t larger(std::int64_t a, std::int64_t b) { return a > b ? a : b; }

/// One matrix of the batch and how it is cut; a function of the sizes alone.
struct Product {
  const GemmCall& call;
  std::int64_t a, b, c;                  // offsets of this batch entry, in elements
  std::int64_t depth, blocks;            // k per block, number of blocks
  std::int64_t tile_rows, tile_cols;     // multiples of kMr and kNr
  std::int64_t col_begin = 0, cols = 0;  // the columns that are packed now
  float* packed = nullptr;               // [blocks][strips][depth of the block][kNr]

  [[nodiscard]] std::int64_t strips() const { return ceil_div(cols, kNr); }
  [[nodiscard]] std::int64_t depth_of(std::int64_t block) const {
    return smaller(depth, call.k - block * depth);
  }
  [[nodiscard]] float* strip(std::int64_t block, std::int64_t strip_index) const {
    return packed + (block * depth * strips() + strip_index * depth_of(block)) * kNr;
  }
};

Product cut(const GemmCall& call, std::int64_t entry) {
  const std::int64_t blocks = larger(1, ceil_div(call.k, kMaxDepth));
  const std::int64_t panels = ceil_div(call.m, kMr), strips = ceil_div(call.n, kNr);
  const std::int64_t tile_panels = smaller(kMaxTileRows / kMr, larger(1, panels / kWantedTiles));
  const std::int64_t row_tiles = ceil_div(panels, tile_panels);
  const std::int64_t tile_strips = ceil_div(strips, larger(1, kWantedTiles / (2 * row_tiles)));
  return {call,
          gemm_batch_offset(call, call.a.batch, entry),
          gemm_batch_offset(call, call.b.batch, entry),
          gemm_batch_offset(call, call.c.batch, entry),
          ceil_div(call.k, blocks),
          blocks,
          tile_panels * kMr,
          tile_strips * kNr};
}

/// Packs lines of an operand that start at `offset`.
template <int kWidth>
void pack(const GemmOperand& x, std::int64_t offset, const Lines& lines, float* dst) {
  if (x.dtype == DType::f32) {
    pack_strip<kWidth>(static_cast<const float*>(x.data) + offset, lines, dst);
  } else {
    pack_strip<kWidth>(static_cast<const bf16*>(x.data) + offset, lines, dst);
  }
}

void pack_b(const Product& p, std::int64_t block, std::int64_t strip) {
  const GemmOperand& b = p.call.b;
  const std::int64_t col = p.col_begin + strip * kNr, k = block * p.depth;
  const Lines lines{b.col, b.row, smaller(kNr, p.call.n - col), p.depth_of(block)};
  pack<kNr>(b, p.b + k * b.row + col * b.col, lines, p.strip(block, strip));
}

/// Rows [row, row + rows) of A in block `block`, as panels [depth][kMr].
void pack_a(const Product& p, std::int64_t block, std::int64_t row, std::int64_t rows,
            float* packed) {
  const GemmOperand& a = p.call.a;
  const std::int64_t k = block * p.depth, depth = p.depth_of(block);
  for (std::int64_t i = 0; i < rows; i += kMr) {
    const Lines lines{a.row, a.col, smaller(kMr, rows - i), depth};
    pack<kMr>(a, p.a + (row + i) * a.row + k * a.col, lines, packed + i * depth);
  }
}

/// A tile of C: rows [row, row + rows) and, of the packed columns, [col, col + cols).
struct Tile {
  std::int64_t row, rows, col, cols;
};

template <class T>
void multiply_panels(const Product& p, const Tile& t, std::int64_t block, const float* packed_a,
                     float* sum, std::int64_t sum_stride) {
  const GemmCall& call = p.call;
  const std::int64_t depth = p.depth_of(block);
  alignas(64) float tile[kMr * kNr];
  for (std::int64_t j = t.col; j < t.col + t.cols; j += kNr) {
    const float* b = p.strip(block, j / kNr);
    const std::int64_t col = p.col_begin + j, cols = smaller(kNr, t.col + t.cols - j);
    for (std::int64_t i = 0; i < t.rows; i += kMr) {
      if (cols > kLanes) {
        multiply_tile<2>(depth, packed_a + i * depth, b, tile);
      } else {
        multiply_tile<1>(depth, packed_a + i * depth, b, tile);
      }
      const std::int64_t at = p.c + (t.row + i) * call.c.row + col;
      auto* z = static_cast<T*>(call.pre_activation);
      const auto* bias = static_cast<const float*>(call.bias);
      if (bias != nullptr) bias += call.bias_kind == GemmBias::per_row ? t.row + i : col;
      finish_tile<T>(call,
                     {static_cast<T*>(call.c.data) + at, z == nullptr ? nullptr : z + at,
                      sum + i * sum_stride + (j - t.col), call.c.row, sum_stride, bias,
                      smaller(kMr, t.rows - i), cols, block == 0, block == p.blocks - 1},
                     tile);
    }
  }
}

void multiply_tile_of(const Product& p, const Tile& t) {
  const std::int64_t panels = ceil_div(t.rows, kMr);
  auto* packed_a = static_cast<float*>(scratch(
      Scratch::gemm_a, static_cast<std::size_t>(panels * kMr * p.depth + kLanes) * sizeof(float)));
  const bool f32 = p.call.c.dtype == DType::f32;
  float* sum = nullptr;
  std::int64_t sum_stride = p.call.c.row;
  if (f32) {
    sum = static_cast<float*>(p.call.c.data) + p.c + t.row * sum_stride + p.col_begin + t.col;
  } else if (p.blocks > 1) {
    sum_stride = t.cols;
    sum = static_cast<float*>(
        scratch(Scratch::gemm_sum, static_cast<std::size_t>(t.rows * sum_stride) * sizeof(float)));
  }
  for (std::int64_t block = 0; block < p.blocks; ++block) {
    pack_a(p, block, t.row, t.rows, packed_a);
    if (f32) {
      multiply_panels<float>(p, t, block, packed_a, sum, sum_stride);
    } else {
      multiply_panels<bf16>(p, t, block, packed_a, sum, sum_stride);
    }
  }
}

void multiply(Product p) {
  const std::int64_t cols_at_once =
      larger(1, smaller(ceil_div(p.call.n, kNr), kMaxPacked / (larger(1, p.call.k) * kNr))) * kNr;
  p.packed = static_cast<float*>(
      scratch(Scratch::gemm_b, static_cast<std::size_t>(cols_at_once * p.call.k) * sizeof(float)));
  for (p.col_begin = 0; p.col_begin < p.call.n; p.col_begin += cols_at_once) {
    p.cols = smaller(cols_at_once, p.call.n - p.col_begin);
    const std::int64_t strips = p.strips();
    parallel_for(strips * p.blocks, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) pack_b(p, i / strips, i % strips);
    });
    const std::int64_t tiles_across = ceil_div(p.cols, p.tile_cols);
    const std::int64_t tiles = ceil_div(p.call.m, p.tile_rows) * tiles_across;
    parallel_for(tiles, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t row = i / tiles_across * p.tile_rows;
        const std::int64_t col = i % tiles_across * p.tile_cols;
        multiply_tile_of(p, {row, smaller(p.tile_rows, p.call.m - row), col,
                             smaller(p.tile_cols, p.cols - col)});
      }
    });
  }
}

/// Small products of a batch run side by side, large ones after each other and cut into tiles.
void run(const GemmCall& call) {
  std::int64_t entries = 1;
  for (const std::int64_t size : call.batch) entries *= size;
  if (entries > 1 && call.m * call.n * call.k <= kSerialBatch) {
    parallel_for(entries, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) multiply(cut(call, i));
    });
    return;
  }
  for (std::int64_t i = 0; i < entries; ++i) multiply(cut(call, i));
}

}  // namespace

extern const GemmKernels gemm_kernels{run};

}  // namespace fovea::ops::cpu::FOVEA_ISA
