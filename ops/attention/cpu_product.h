// The GEMM of the attention kernels, on packed tiles: all five products of forward and backward
// are C (+)= A B with row-major B and C and arbitrary strides for A (so A^T is free).
#pragma once

#include <cstdint>

#include "ops/common/cpu/multiply_add.h"
#include "ops/common/cpu/tiles.h"

namespace fovea::ops::cpu::FOVEA_ISA::attention {

// Register use, of 32: 6 x 4 sums, 4 of B, 1 of A; of 16: 6 x 2 sums, 2 of B, 1 of A.
inline constexpr int kMaxVectors = kVectorBytes == 64 ? 4 : 2;
/// Rows of a block that is one vector wide: the more of them share the load of B, the better.
inline constexpr int kNarrowRows = kVectorBytes == 64 ? 18 : 8;

/// A row-major matrix with `pitch` elements between rows; the pitch is a whole number of vectors,
/// and of tiles if there are.
template <class E>
struct PitchedTile {
  E* data = nullptr;
  std::int64_t pitch = 0;

  E* row(std::int64_t i) const { return data + i * pitch; }
};

/// c [rows, columns] = (add ? c : 0) + a [rows, depth] b [depth, columns], where the depth counts
/// E. Each element is one chain of additions over the depth, so splitting the depth does not change
/// any bit. Columns are rounded up to half a vector: the excess is read in b and overwritten in c.
/// Where E is multiplied in tiles, a_column is 1, the chain adds sums of kStepsAtOnce products, and
/// rows and columns are rounded up to whole tiles.
template <class E>
struct TileProduct {
  using A = acc_t<E>;

  std::int64_t rows = 0, columns = 0, depth = 0;
  bool add = false;
  const E* a = nullptr;
  std::int64_t a_row = 0, a_column = 1;
  PitchedTile<E> b;
  PitchedTile<A> c;
  A scale = 1;  ///< of c
};

/// Rows of a that share a pointer: x86 addresses 6 rows by a pointer and 1, 3 and 5 times their
/// distance.
inline constexpr int kRowsPerPointer = 6;

template <int kBytes, int kRows, int kVectors, class E, class V>
[[gnu::always_inline]] inline void add_products(const TileProduct<E>& p, const E* a, const E* b,
                                                V (&sum)[kRows][kVectors]) {
  constexpr int kWidth = kBytes / static_cast<int>(sizeof(acc_t<E>));
  [[maybe_unused]] const Arithmetic<E> arithmetic;
  const std::int64_t next_rows = kRowsPerPointer * p.a_row;
  for (std::int64_t k = 0; k < p.depth; ++k, a += p.a_column, b += p.b.pitch) {
    Words<E, kBytes> bk[kVectors];
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) bk[j] = load_words<kBytes>(b + j * kWidth);
    const E* rows = a;
#pragma GCC unroll 18
    for (int i = 0; i < kRows; ++i) {
      if (i > 0 && i % kRowsPerPointer == 0) rows = opaque_alias(rows + next_rows);
      const E aik = rows[i % kRowsPerPointer * p.a_row];
#pragma GCC unroll 4
      for (int j = 0; j < kVectors; ++j) sum[i][j] = add_product(sum[i][j], aik, bk[j]);
    }
  }
}

/// Calls f(i, j) for each vector of a tile. The loops are unrolled before the compiler decides what
/// stays in registers.
template <int kRows, int kVectors, class F>
[[gnu::always_inline]] inline void for_each_vector(const F& f) {
#pragma GCC unroll 18
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) f(i, j);
  }
}

/// A tile of c, kRows rows by kVectors vectors of kBytes, held in registers.
template <int kBytes, int kRows, int kVectors, class E>
inline void product_block(const TileProduct<E>& p, std::int64_t row, std::int64_t column) {
  using A = acc_t<E>;
  using V = Vector<A, kBytes>;
  constexpr int kWidth = kBytes / static_cast<int>(sizeof(A));
  V sum[kRows][kVectors];
  A* const c = p.c.row(row) + column;
  const auto at = [&](int i, int j) { return c + i * p.c.pitch + j * kWidth; };
  for_each_vector<kRows, kVectors>(
      [&](int i, int j) { sum[i][j] = p.add ? load<V>(at(i, j)) : V{}; });
  add_products<kBytes>(p, p.a + row * p.a_row, p.b.data + column, sum);
  if (p.scale != 1) for_each_vector<kRows, kVectors>([&](int i, int j) { sum[i][j] *= p.scale; });
  for_each_vector<kRows, kVectors>([&](int i, int j) { store(at(i, j), sum[i][j]); });
}

/// Processes rows in blocks of kRows, then of 8, 4, 2 and 1.
template <int kBytes, int kRows, int kVectors, class E>
inline void product_rows(const TileProduct<E>& p, std::int64_t row, std::int64_t column) {
  for (; row + kRows <= p.rows; row += kRows)
    product_block<kBytes, kRows, kVectors>(p, row, column);
  constexpr int kNext = kRows > 8 ? 8 : kRows > 4 ? 4 : kRows / 2;
  if constexpr (kNext > 0) {
    if (row < p.rows) product_rows<kBytes, kNext, kVectors>(p, row, column);
  }
}

/// Processes blocks of tiles.
template <class E>
inline void multiply_in_tiles(const TileProduct<E>& p) {
  for (std::int64_t j = 0; j < p.columns; j += kBlockSide) {
    for (std::int64_t i = 0; i < p.rows; i += kBlockSide) {
      const BlockProduct<E> block{.rows = smaller(kBlockSide, p.rows - i),
                                  .columns = smaller(kBlockSide, p.columns - j),
                                  .steps = p.depth / kTileSide,
                                  .a = p.a + i * p.a_row,
                                  .a_row = p.a_row,
                                  .a_step = kTileSide,
                                  .b = p.b.data + j,
                                  .b_row = p.b.pitch,
                                  .c = p.c.row(i) + j,
                                  .c_row = p.c.pitch,
                                  .add = p.add};
      multiply_block(block);
      if (p.scale == 1) continue;
      for (std::int64_t row = 0; row < block.rows; ++row) {
        float* c = block.c + row * p.c.pitch;
        for (std::int64_t column = 0; column < block.columns; ++column) c[column] *= p.scale;
      }
    }
  }
}

/// Processes columns in blocks of whole vectors, then a last half vector where that suffices (not
/// for pairs, which are multiplied in whole vectors).
template <class E>
inline void multiply_in_vectors(const TileProduct<E>& p) {
  using A = acc_t<E>;
  constexpr std::int64_t kWidth = kLanes<A>;
  constexpr std::int64_t kHalf = kVectorBytes > 16 && kPerStep<E> == 1 ? kWidth / 2 : 0;
  std::int64_t j = 0;
  while (j < p.columns) {
    const std::int64_t left = p.columns - j;
    if constexpr (kMaxVectors == 4) {
      if (left > 3 * kWidth + kHalf) {
        product_rows<kVectorBytes, 6, 4>(p, 0, j);
        j += 4 * kWidth;
        continue;
      }
      if (left > 2 * kWidth + kHalf) {
        product_rows<kVectorBytes, 8, 3>(p, 0, j);
        j += 3 * kWidth;
        continue;
      }
    }
    if (left > kWidth + kHalf) {
      product_rows<kVectorBytes, kMaxVectors == 4 ? 8 : 6, 2>(p, 0, j);
      j += 2 * kWidth;
    } else if (left > kHalf) {
      product_rows<kVectorBytes, kNarrowRows, 1>(p, 0, j);
      j += kWidth;
    } else if constexpr (kHalf > 0) {
      product_rows<kVectorBytes / 2, 8, 1>(p, 0, j);
      j += kHalf;
    }
  }
}

template <class E>
inline void multiply(const TileProduct<E>& p) {
  if constexpr (kInTiles<E>) {
    multiply_in_tiles(p);
  } else {
    multiply_in_vectors(p);
  }
}

}  // namespace fovea::ops::cpu::FOVEA_ISA::attention
