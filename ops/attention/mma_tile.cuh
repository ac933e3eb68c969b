// Attention on tensor cores (Dao 2023, FlashAttention-2, in two kernels for the derivative): a
// block of four warps owns rows of one side of the scores, and streams the rows of the other side
// through two buffers of shared memory. Each warp keeps the sums of its own rows in registers. So
// every sum has one owner and an order that follows from the shapes alone.
#pragma once

#include <type_traits>

#include "ops/attention/heads.cuh"
#include "ops/attention/mma_product.cuh"
#include "ops/matmul.h"

namespace fovea::ops::cuda {

inline constexpr int kMmaWarps = 4, kMmaThreads = kMmaWarps * kWarp;
inline constexpr int kStrip = 16;        ///< rows of one product
inline constexpr int kMmaColumns = 128;  ///< of q, k and v: at most

/// Strips of own rows per warp: two share what they load of the other side, if registers suffice.
template <class T, int Width>
inline constexpr int kStripsOf = sizeof(T) == 2 && Width >= 48 && Width <= 80 ? 2 : 1;

/// Blocks per multiprocessor for which a kernel must leave registers.
template <class T, int Width>
inline constexpr int kBlocksOf = Width > 64 || kStripsOf<T, Width> > 1 ? 2 : 3;

/// `Rows` rows in shared memory, with zeros where a row or column does not exist. The distance
/// between rows is an odd number of 16-byte units: eight rows at one column lie in different banks.
template <class T, int Rows, int Width>
struct RowTile {
  static constexpr int kChunk = 16 / static_cast<int>(sizeof(T));  ///< elements of 16 bytes
  static constexpr int kChunks = Width / kChunk, kPitch = Width + kChunk;
  static constexpr int kRows = Rows, kElements = Rows * kPitch;
  T* data;

  /// Lanes go down eight rows at each chunk of columns. `i` counts the chunks of all rows.
  __device__ static int row_of(int i) { return i / (8 * kChunks) * 8 + i % 8; }
  __device__ static int column_of(int i) { return i / 8 % kChunks * kChunk; }
  __device__ T* at(int row, int column) const { return data + row * kPitch + column; }

  /// Starts the copy of the rows from `first` on, by all threads of the block.
  __device__ void fetch(const HeadRows<T>& x, std::int64_t first) const {
    const int piece = x.piece();
    for (int i = static_cast<int>(threadIdx.x); i < Rows * kChunks; i += kMmaThreads) {
      fetch_chunk(at(row_of(i), column_of(i)), x, piece, first + row_of(i), column_of(i));
    }
  }

  /// Writes `Count` rows from `first` on to the rows of x, where those exist, by one warp. The
  /// tile's row 0 is x's row `begin`.
  template <int Count>
  __device__ void write(const HeadRows<T>& x, std::int64_t begin, int first) const {
    const bool in_packs = x.piece() == 16;
    for (int i = lane(); i < Count * kChunks; i += kWarp) {
      const int row = first + row_of(i), column = column_of(i);
      const auto pack = load_pack(at(row, column));
      if (begin + row >= x.rows) continue;
      T* const to = const_cast<T*>(x.data) + (begin + row) * x.row + column * x.column;
      if (in_packs && column + kChunk <= x.width) {
        store_pack(to, pack);
        continue;
      }
      for (int j = 0; j < kChunk && column + j < x.width; ++j) to[j * x.column] = pack.v[j];
    }
  }

 private:
  /// In one piece of 16 bytes, four of 4 bytes, or element by element. Each lane starts its pieces
  /// at another bank than the lanes at other columns.
  __device__ static void fetch_chunk(T* to, const HeadRows<T>& x, int piece, std::int64_t row,
                                     int column) {
    const int beyond = row < x.rows ? static_cast<int>(x.width) - column : 0;
    const int count = beyond < 0 ? 0 : beyond < kChunk ? beyond : kChunk;
    const T* const from = count > 0 ? x.data + row * x.row + column * x.column : x.data;
    if (piece == 16) {
      return copy_async<16>(to, from, count * static_cast<int>(sizeof(T)));
    }
    constexpr int kWord = 4 / static_cast<int>(sizeof(T));  // elements of 4 bytes
    const int turn = lane() / 8;
    if (piece == 4) {
      for (int i = 0; i < 4; ++i) {
        const int at = (i + turn) % 4 * kWord, left = count - at;
        const int existing = left < 0 ? 0 : left < kWord ? left : kWord;
        copy_async<4>(to + at, existing > 0 ? from + at : from,
                      existing * static_cast<int>(sizeof(T)));
      }
      return;
    }
    for (int i = 0; i < kChunk; ++i) {
      const int at = (i + turn * kWord) % kChunk;
      T value(0.0f);
      if (at < count) value = from[at * x.column];
      to[at] = value;
    }
  }
};

/// Calls use(tile, buffer) for each tile, while fetch(tile + 1, other buffer) is underway. Before
/// it, turn(tile, buffer) may change the tile by all threads, and says whether it did.
template <class Fetch, class Turn, class Use>
__device__ void stream(int tiles, const Fetch& fetch, const Turn& turn, const Use& use) {
  fetch(0, 0);
  commit_copies();
  for (int tile = 0; tile < tiles; ++tile) {
    wait_copies<0>();
    __syncthreads();  // all have this tile, and have left the other buffer
    if (tile + 1 < tiles) fetch(tile + 1, (tile + 1) % 2);
    commit_copies();
    if (turn(tile, tile % 2)) __syncthreads();
    use(tile, tile % 2);
  }
}

/// The biases of a tile of scores in shared memory, a row for each query; either the queries or the
/// keys are a block's own rows.
template <int Queries, int Keys, bool OwnKeys>
struct BiasTile {
  using Rows = RowTile<float, Queries, Keys>;
  Rows rows;  ///< data null: no bias

  /// The bytes of `tiles` such tiles, if the call has a bias.
  static std::size_t bytes(const AttentionCall& c, int tiles) {
    return c.bias.data == nullptr ? 0 : tiles * Rows::kElements * sizeof(float);
  }
  /// One of them; `first` is the place of tile 0.
  __device__ BiasTile(const AttentionCall& c, void* first, int tile)
      : rows{c.bias.data == nullptr ? nullptr
                                    : static_cast<float*>(first) + tile * Rows::kElements} {}

  /// Starts the copy of a head's biases from this query and key on, by all threads of the block.
  __device__ void fetch(const AttentionCall& c, std::int64_t image, std::int64_t head,
                        std::int64_t query, std::int64_t key) const {
    if (rows.data == nullptr) return;
    rows.fetch(HeadRows<float>(c.bias, image, head, c.queries, c.keys).from_column(key), query);
  }
  /// The biases of the streamed rows `other` and the one after it.
  __device__ Pack<float, 2> pair(int own, int other) const {
    if constexpr (OwnKeys) return {{*rows.at(other, own), *rows.at(other + 1, own)}};
    return load_pair(rows.at(own, other));
  }
};

/// A warp's own rows: Strips times 16, of which `strips` have rows that exist. Sums over the other
/// side's rows are fragments, [strip][8 columns][4].
template <class M, int Width, int Strips>
struct WarpRows {
  using T = typename M::T;
  static constexpr int kWarpRows = kStrip * Strips;
  static constexpr int kOwn = kMmaWarps * kWarpRows;  ///< rows of the block
  using Own = RowTile<T, kOwn, Width>;
  template <int Rows>
  using Streamed = RowTile<T, Rows, Width>;

  int first;  ///< in the block's tile
  int strips;

  /// `rows`: those of the block that exist.
  __device__ explicit WarpRows(std::int64_t rows)
      : first(static_cast<int>(threadIdx.x) / kWarp * kWarpRows) {
    const std::int64_t left = (rows - first + kStrip - 1) / kStrip;
    strips = left < 0 ? 0 : left < Strips ? static_cast<int>(left) : Strips;
  }
  /// The row of the block's tile of one half of a strip's sums.
  __device__ int row(int strip, int half) const {
    return first + strip * kStrip + half * 8 + fragment_row();
  }

  __device__ typename M::Left left(const Own& own, int strip, int column) const {
    std::uint32_t words[4];
    load_matrices(words,
                  own.at(first + strip * kStrip + lane() % 16, column + lane() / 16 * Own::kChunk));
    return M::left(words);
  }
  /// Two times eight rows from `row` on.
  template <class Tile>
  __device__ static void load_rows(typename M::Right (&right)[2], const Tile& tile, int row,
                                   int column) {
    std::uint32_t words[4];
    load_matrices(
        words, tile.at(row + lane() / 16 * 8 + lane() % 8, column + lane() / 8 % 2 * Tile::kChunk));
    right[0] = M::right(words[0], words[1]);
    right[1] = M::right(words[2], words[3]);
  }

  /// products = own rows times the first `count` rows of the other tile.
  template <int Tiles>
  __device__ void multiply(float (&products)[Strips][Tiles][4], const Own& own,
                           const Streamed<8 * Tiles>& other, int count) const {
    typename M::Accumulator sums[Strips][Tiles];
    for (int column = 0; column < Width; column += M::kDepth) {
      typename M::Left own_rows[Strips];
      for (int s = 0; s < Strips; ++s) {
        if (s < strips) own_rows[s] = left(own, s, column);
      }
      for (int n = 0; n < Tiles; n += 2) {
        if (8 * n >= count) break;
        typename M::Right right[2];
        load_rows(right, other, 8 * n, column);
        for (int s = 0; s < Strips; ++s) {
          if (s >= strips) continue;
          M::multiply(sums[s][n], own_rows[s], right[0]);
          if (8 * n + 8 < count) M::multiply(sums[s][n + 1], own_rows[s], right[1]);
        }
      }
    }
    for (int s = 0; s < Strips; ++s) {
      for (int n = 0; n < Tiles; ++n) {
        for (int i = 0; i < 4; ++i) products[s][n][i] = sums[s][n].at(i);
      }
    }
  }

  /// sums += weights, a column for each of the tile's first `count` rows, times these rows. A
  /// tile's products are summed from zero on, since tensor cores cut sums off and do not round.
  template <int Tiles>
  __device__ void weigh(float (&sums)[Strips][Width / 8][4],
                        const float (&weights)[Strips][Tiles][4], const Streamed<8 * Tiles>& rows,
                        int count) const {
    constexpr int kSteps = 8 * Tiles / M::kDepth;
    typename M::Left left[Strips][kSteps];
    for (int s = 0; s < Strips; ++s) {
      for (int k = 0; k < kSteps; ++k) left[s][k] = M::weights(&weights[s][k * M::kDepth / 8]);
    }
    for (int column = 0; column < Width; column += 16) {
      typename M::Accumulator parts[Strips][2];
      for (int k = 0; k < kSteps; ++k) {
        if (k * M::kDepth >= count) break;
        typename M::Right right[2];
        M::load_columns(right, rows.at(k * M::kDepth, column), rows.kPitch);
        for (int s = 0; s < Strips; ++s) {
          if (s >= strips) continue;
          M::multiply(parts[s][0], left[s][k], right[0]);
          M::multiply(parts[s][1], left[s][k], right[1]);
        }
      }
      for (int s = 0; s < Strips; ++s) {
        for (int i = 0; i < 8; ++i) sums[s][column / 8 + i / 4][i % 4] += parts[s][i / 4].at(i % 4);
      }
    }
  }

  /// scores = own rows times the first `count` rows of the other tile, with this scale and bias.
  template <int Tiles, class Bias>
  __device__ void score(float (&scores)[Strips][Tiles][4], const Own& own,
                        const Streamed<8 * Tiles>& other, float scale, const Bias& bias,
                        int count) const {
    multiply(scores, own, other, count);
    for (int s = 0; s < Strips; ++s) {
      for (int i = 0; i < 4 * Tiles; ++i) scores[s][i / 4][i % 4] *= scale;
    }
    if (bias.rows.data == nullptr) return;
    for (int s = 0; s < Strips; ++s) {
      for (int i = 0; i < 2 * Tiles; ++i) {
        const int half = i % 2;
        const Pack<float, 2> pair = bias.pair(row(s, half), i / 2 * 8 + fragment_column());
        scores[s][i / 2][2 * half] += pair.v[0];
        scores[s][i / 2][2 * half + 1] += pair.v[1];
      }
    }
  }

  /// Writes factor times the sums to the warp's rows of `tile`.
  __device__ void store(const float (&sums)[Strips][Width / 8][4], const float (&factor)[Strips][2],
                        const Own& tile) const {
    __syncwarp();  // all lanes have read the tile
    for (int s = 0; s < Strips; ++s) {
      for (int i = 0; i < Width / 4; ++i) {
        const int half = i % 2;
        const float(&pair)[4] = sums[s][i / 2];
        M::store(tile.at(row(s, half), i / 2 * 8 + fragment_column()),
                 pair[2 * half] * factor[s][half], pair[2 * half + 1] * factor[s][half]);
      }
    }
  }
  /// Writes the warp's rows of `tile` that exist, from the block's first row of `to` on.
  __device__ void write(const Own& tile, const HeadRows<T>& to, std::int64_t block_first) const {
    __syncwarp();
    tile.template write<kWarpRows>(to, block_first, first);
  }
};

/// Combines the four lanes that hold a row's sums; each receives the result.
template <class Combine>
__device__ float row_reduce(float value, Combine combine) {
  value = combine(value, __shfl_xor_sync(0xffffffffu, value, 1));
  return combine(value, __shfl_xor_sync(0xffffffffu, value, 2));
}

/// The number of streamed rows of a tile that exist.
template <int Rows>
__device__ int rows_of_tile(std::int64_t rows, int tile) {
  const std::int64_t left = rows - static_cast<std::int64_t>(tile) * Rows;
  return left < Rows ? static_cast<int>(left) : Rows;
}

/// Calls f(M{}, std::integral_constant<int, Width>{}) for the products of the call's dtype and the
/// least sufficient width.
template <class F>
void dispatch_mma(const AttentionCall& c, const F& f) {
  const std::int64_t width = c.width > c.value_width ? c.width : c.value_width;
  const auto with_width = [&](auto product) {
    if (width <= 16) return f(product, std::integral_constant<int, 16>{});
    if (width <= 32) return f(product, std::integral_constant<int, 32>{});
    if (width <= 48) return f(product, std::integral_constant<int, 48>{});
    if (width <= 64) return f(product, std::integral_constant<int, 64>{});
    if (width <= 80) return f(product, std::integral_constant<int, 80>{});
    if (width <= 96) return f(product, std::integral_constant<int, 96>{});
    f(product, std::integral_constant<int, kMmaColumns>{});
  };
  if (c.dtype == DType::bf16) return with_width(Bf16Product{});
  if (is_tf32_allowed()) return with_width(Tf32Product<1>{});
  with_width(Tf32Product<3>{});
}

}  // namespace fovea::ops::cuda
