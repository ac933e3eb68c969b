// The GEMM microkernel: a tile of C in registers. E is what A and B are packed as, and what one
// step along k multiplies: f32, or pairs of bf16. (Where pairs are multiplied in tiles, the kernel
// is multiply_block of ops/common/cpu/tiles.h.)
#pragma once

#include <type_traits>

#include "ops/common/cpu/multiply_add.h"
#include "ops/common/cpu/prefetch.h"
#include "ops/common/cpu/tiles.h"
#include "ops/gemm/cpu_gemm_vector.h"

namespace fovea::ops::cpu::FOVEA_ISA {

// Vectors fill the register file: 14 * 2 of 32 registers (v4), 6 * 2 of 16 (v3), 4 * 2 of 16 (v2).
#if defined(FOVEA_ISA_v4)
inline constexpr int kVectorRows = 14;
#elif defined(FOVEA_ISA_v3)
inline constexpr int kVectorRows = 6;
#else
inline constexpr int kVectorRows = 4;
#endif
/// Rows and columns of a tile of C.
template <class E>
inline constexpr int kMr = kInTiles<E> ? kBlockSide : kVectorRows;
template <class E>
inline constexpr int kNr = kInTiles<E> ? kBlockSide : 2 * kLanes<float>;

/// Elements of a cache line.
template <class E>
inline constexpr std::int64_t kLine = 64 / sizeof(E);

/// Cache lines to prefetch while a tile is multiplied, one in each step along k: `step` apart, with
/// `turn` more after every kLine of them.
template <class E>
struct NextLines {
  const E* at = nullptr;
  std::int64_t step = 0, turn = 0;

  void fetch(std::int64_t k) {
    prefetch<2, PrefetchKind::read>(at, 1);
    at += step;
    if (k % kLine<E> == kLine<E> - 1) at += turn;
  }
};

/// kMr rows of A: the element of row i and step k is data[i * row + k * step]. One of the two
/// strides is 1. (In tiles, kTileSide steps of a row are adjacent, and `step` is the distance to
/// the next ones.)
template <class E>
struct Panel {
  const E* data;
  std::int64_t row, step;
  NextLines<E> next{};  ///< that are read later
  /// Where a panel of columns is packed while it is read, or null. A single strip of one vector
  /// leaves it out: no other strip follows.
  E* copy = nullptr;

  /// The panel's own lines: a line in each step if rows are adjacent, otherwise one of each of
  /// kLine rows, then those beside them.
  [[nodiscard]] NextLines<E> lines() const {
    if (row == 1) return {data + kMr<E> - 1, step, 0};
    return {data, row, kLine<E> * (1 - row)};
  }
};
/// A packed panel.
template <class E>
Panel<E> packed_panel(const E* data) {
  if constexpr (kInTiles<E>) return {data, kTileSide, kMr<E> * kTileSide};
  return {data, 1, kMr<E>};
}
/// kNr columns of B: those of step k are data[k * step], data[k * step + 1], ... Without a copy the
/// strip is packed, and `step` is kNr.
template <class E>
struct Strip {
  const E* data;
  std::int64_t step = kNr<E>;
  E* copy = nullptr;  ///< where a whole strip is packed while it is read, or null
};

/// How a panel is read: packed, or in place with adjacent rows or adjacent columns.
enum class Reads { packed, rows, columns };
/// How a kernel reads its panel, and what it moves on the side, while it multiplies.
struct Pass {
  Reads reads = Reads::packed;
  bool packs_a = false, packs_b = false;  ///< to Panel::copy and Strip::copy
  bool fetches = false;                   ///< Panel::next
};

inline constexpr std::int64_t kAhead = 24;  // k between a prefetch and the use of its data

/// The destination of a tile: rows `stride` apart. T is C's type.
template <class T>
struct TileOutput {
  T* c;
  std::int64_t stride;
  const T* addend;    ///< laid out as c, possibly c itself, or null
  const float* bias;  ///< one value per column, or null
};

/// Walks a panel along k. For row-strided panels one base pointer serves three rows: base, base +
/// row and base + 2 row fit the addressing modes. Distant columns are prefetched explicitly,
/// because the hardware prefetcher does not follow strides across pages.
template <class E, int kRows, Reads kReads>
class PanelWalk {
 public:
  explicit PanelWalk(const Panel<E>& panel)
      : twin_(opaque_alias(panel.data)), row_(kApart ? panel.row : 1), step_(panel.step) {
#pragma GCC unroll 8
    for (int g = 0; g < kGroups; ++g) third_[g] = panel.data + 3 * g * row_;
  }
  E operator[](int i) const {
    return load_step(kApart ? third_[i / 3] + i % 3 * row_ : third_[0] + i);
  }
  /// The same element, for the second vector of columns.
  E again(int i) const {
    return !kApart && loads_scalar_twice(i) ? load_step(twin_ + i) : (*this)[i];
  }
  /// Packs this step.
  void copy_to(E* to) const { __builtin_memcpy(to, third_[0], kRows * sizeof(E)); }
  void next() {
    if (!kApart) twin_ += step_;
    if (kReads == Reads::columns)
      prefetch<1, PrefetchKind::read>(third_[0] + kAhead * step_ + kRows - 1, 1);
#pragma GCC unroll 8
    for (int g = 0; g < kGroups; ++g) third_[g] += kApart ? 1 : step_;
  }

 private:
  static constexpr bool kApart = kReads == Reads::rows;
  static constexpr int kGroups = kApart ? (kRows + 2) / 3 : 1;
  const E* third_[kGroups];
  const E* twin_;
  std::int64_t row_, step_;
};

/// sum[i][j] = sum over k of a(i, k) * b(k, j), for kRows rows and kCols vectors of columns.
template <int kRows, int kCols, Pass kPass, class E>
[[gnu::always_inline]] inline void add_products(std::int64_t depth, const Panel<E>& panel,
                                                const Strip<E>& strip, Vec (&sum)[kRows][kCols]) {
  [[maybe_unused]] const Arithmetic<E> arithmetic;
  PanelWalk<E, kRows, kPass.reads> a(panel);
  const E* b = strip.data;
  const std::int64_t b_step = kPass.packs_b ? strip.step : kNr<E>;
  [[maybe_unused]] NextLines<E> next = panel.next;
  // Without lines, one that is cached: cheaper than a test in the loop.
  if (kPass.fetches && next.at == nullptr) next.at = panel.data;
  [[maybe_unused]] E *packed_a = panel.copy, *packed_b = strip.copy;
  for (std::int64_t k = 0; k < depth; ++k) {
    // Earlier than the hardware would.
    prefetch<1, PrefetchKind::read>(b + kAhead * b_step, kNr<E>);
    Words<E> right[kCols];
#pragma GCC unroll 2
    for (int j = 0; j < kCols; ++j) right[j] = load_words(b + j * kLanes<float>);
    if constexpr (kPass.packs_a) {
      a.copy_to(packed_a);
      packed_a += kRows;
    }
    if constexpr (kPass.packs_b) {
#pragma GCC unroll 2
      for (int j = 0; j < kCols; ++j) store_words(packed_b + j * kLanes<float>, right[j]);
      packed_b += kNr<E>;
    }
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
      for (int j = 0; j < kCols; ++j)
        sum[i][j] = add_product(sum[i][j], j == 0 ? a[i] : a.again(i), right[j]);
    }
    if constexpr (kPass.fetches) next.fetch(k);
    a.next();
    b += b_step;
  }
}

/// A tile of C from a panel of A and a strip of B.
template <int kRows, int kCols, Pass kPass = Pass{}, class E, class T>
void multiply_tile(std::int64_t depth, const Panel<E>& panel, const Strip<E>& strip,
                   const TileOutput<T>& out) {
  Vec sum[kRows][kCols] = {};
  add_products<kRows, kCols, kPass>(depth, panel, strip, sum);
  if (out.bias != nullptr) {
#pragma GCC unroll 2
    for (int j = 0; j < kCols; ++j) {
      const Vec bias = load<Vec>(out.bias + j * kLanes<float>);
#pragma GCC unroll 16
      for (int i = 0; i < kRows; ++i) sum[i][j] += bias;
    }
  }
  if (out.addend != nullptr) {
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
      for (int j = 0; j < kCols; ++j)
        sum[i][j] += load<Vec>(out.addend + i * out.stride + j * kLanes<float>);
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
    for (int j = 0; j < kCols; ++j) store(out.c + i * out.stride + j * kLanes<float>, sum[i][j]);
  }
}

/// Whether panels name lines to prefetch: tall ones of f32.
template <class E>
inline constexpr bool kFetchesNext = std::is_same_v<E, float>&& kVectorRows >= 14;

/// A tile of all rows and two vectors of columns.
template <Reads kReads, class E, class T>
inline void multiply_whole_tile(std::int64_t depth, const Panel<E>& a, const Strip<E>& b,
                                const TileOutput<T>& out) {
  constexpr bool packs = std::is_same_v<E, float> && std::is_same_v<T, float>;
  if constexpr (packs && kReads == Reads::columns) {
    constexpr Pass kBoth{
        .reads = kReads, .packs_a = true, .packs_b = true, .fetches = kFetchesNext<E>};
    constexpr Pass kA{.reads = kReads, .packs_a = true, .fetches = kFetchesNext<E>};
    if (a.copy != nullptr && b.copy != nullptr)
      return multiply_tile<kMr<E>, 2, kBoth>(depth, a, b, out);
    if (a.copy != nullptr) return multiply_tile<kMr<E>, 2, kA>(depth, a, b, out);
  }
  if constexpr (packs && kReads == Reads::packed) {
    constexpr Pass kB{.packs_b = true, .fetches = kFetchesNext<E>};
    if (b.copy != nullptr) return multiply_tile<kMr<E>, 2, kB>(depth, a, b, out);
  }
  if constexpr (kFetchesNext<E>) {
    constexpr Pass kFetches{.reads = kReads, .fetches = true};
    if (a.next.at != nullptr) return multiply_tile<kMr<E>, 2, kFetches>(depth, a, b, out);
  }
  multiply_tile<kMr<E>, 2, Pass{.reads = kReads}>(depth, a, b, out);
}

/// Runs the smallest kernel that covers `cols` columns, for a whole panel in place.
template <Reads kReads, class E, class T>
inline void multiply_tile_in_place(std::int64_t depth, const Panel<E>& a, const Strip<E>& b,
                                   std::int64_t cols, const TileOutput<T>& out) {
  if (cols > kLanes<float>) return multiply_whole_tile<kReads>(depth, a, b, out);
  multiply_tile<kMr<E>, 1, Pass{.reads = kReads}>(depth, a, b, out);
}

/// Runs the smallest kernel that covers `rows` rows and `cols` columns; panels in place are always
/// whole.
template <class E, class T>
inline void multiply_tile(std::int64_t depth, const Panel<E>& a, const Strip<E>& b,
                          std::int64_t rows, std::int64_t cols, const TileOutput<T>& out) {
  constexpr int kTwoThirds = (2 * kMr<E> + 2) / 3, kThird = (kMr<E> + 2) / 3;
  if (a.row != 1) return multiply_tile_in_place<Reads::rows>(depth, a, b, cols, out);
  if constexpr (kPerStep<E> == 1) {
    if (a.step != kMr<E> || a.copy != nullptr)
      return multiply_tile_in_place<Reads::columns>(depth, a, b, cols, out);
  }
  if (cols > kLanes<float>) {
    if (rows > kTwoThirds) return multiply_whole_tile<Reads::packed>(depth, a, b, out);
    if (rows > kThird) return multiply_tile<kTwoThirds, 2>(depth, a, b, out);
    return multiply_tile<kThird, 2>(depth, a, b, out);
  }
  if (rows > kTwoThirds) return multiply_tile<kMr<E>, 1>(depth, a, b, out);
  if (rows > kThird) return multiply_tile<kTwoThirds, 1>(depth, a, b, out);
  multiply_tile<kThird, 1>(depth, a, b, out);
}

}  // namespace fovea::ops::cpu::FOVEA_ISA
