// Factors of the attention kernels' products, in tiles of FactorOf<T>. A factor's depth is along
// its rows (rows form) or along its columns (depth form). In f32 and f64 both are the matrix
// itself; a pair of bf16 has two neighbours of a row in the rows form, of a column in the depth
// form.
#pragma once

#include "ops/attention/cpu_tile.h"

namespace fovea::ops::cpu::FOVEA_ISA::attention {

/// tile = scale * source in rows form, zero-padded to the pitch. Pairs are copied and take no
/// scale.
template <class T, class E>
inline void pack_rows(Rows<const T> source, Extent size, [[maybe_unused]] acc_t<E> scale,
                      PitchedTile<E> tile) {
  if constexpr (std::is_same_v<E, Bf16Pair>) {
    for (std::int64_t i = 0; i < size.rows; ++i) {
      const T* from = source.from(i).data;
      auto* to = reinterpret_cast<T*>(tile.row(i));
      if (source.column == 1) {
        __builtin_memcpy(to, from, static_cast<std::size_t>(size.columns) * sizeof(T));
      } else {
        for (std::int64_t j = 0; j < size.columns; ++j) to[j] = from[j * source.column];
      }
      for (std::int64_t j = size.columns; j < 2 * tile.pitch; ++j) to[j] = T{};
    }
  } else {
    pack<T, E>(source, size, scale, tile);
  }
}

/// tile = source in depth form, zero-padded to the pitch.
template <class T, class E>
inline void pack_depth(Rows<const T> source, Extent size, PitchedTile<E> tile) {
  if constexpr (std::is_same_v<E, Bf16Pair>) {
    for (std::int64_t i = 0; i < size.rows; i += 2) {
      const T *low = source.from(i).data, *high = source.from(i + 1).data;
      E* to = tile.row(i / 2);
      const bool both = i + 1 < size.rows;
      if (both && source.column == 1) {
        for (std::int64_t j = 0; j < size.columns; ++j) to[j] = pair(low[j], high[j]);
      } else {
        for (std::int64_t j = 0; j < size.columns; ++j)
          to[j] = pair(low[j * source.column], both ? high[j * source.column] : T{});
      }
      for (std::int64_t j = size.columns; j < tile.pitch; ++j) to[j] = E{};
    }
    for (std::int64_t s = ceil_div(size.rows, kPerStep<E>); s < steps<E>(size.rows); ++s)
      for (std::int64_t j = 0; j < tile.pitch; ++j) tile.row(s)[j] = E{};
  } else {
    pack<T, E>(source, size, E(1), tile);
  }
}

/// A tensor's rows in both forms.
template <class E>
struct Factor {
  PitchedTile<E> rows, depth;

  /// change(rows) may change the packed rows.
  template <class T, class Change>
  void pack(Rows<const T> source, Extent size, acc_t<E> scale, const Change& change) {
    pack_rows<T, E>(source, size, scale, rows);
    change(rows);
    if constexpr (std::is_same_v<E, Bf16Pair>) {
      const Rows<const T> packed{reinterpret_cast<const T*>(rows.data), 2 * rows.pitch, 1};
      pack_depth<T, E>(packed, size, depth);
    } else {
      depth = rows;
    }
  }
  template <class T>
  void pack(Rows<const T> source, Extent size, acc_t<E> scale) {
    pack<T>(source, size, scale, [](PitchedTile<E>) {});
  }
};

/// The sums `from` as a factor in rows form: themselves, or rounded to pairs in `to`, whose rows
/// are filled with zero up to a whole vector of sums.
template <class E>
inline PitchedTile<E> as_rows(PitchedTile<acc_t<E>> from, Extent size,
                              [[maybe_unused]] PitchedTile<E> to) {
  if constexpr (std::is_same_v<E, Bf16Pair>) {
    for (std::int64_t i = 0; i < size.rows; ++i) {
      const float* row = from.row(i);
      auto* halves = reinterpret_cast<bf16*>(to.row(i));
      std::int64_t j = 0;
      for (; j + kLanes<float> <= size.columns; j += kLanes<float>)
        store(halves + j, load<Vector<float>>(row + j));
      if (j < size.columns) {
        store(halves + j, load_part<Vector<float>>(row + j, size.columns - j));
        j += kLanes<float>;
      }
      for (; j < steps<E>(size.columns) * kPerStep<E>; ++j) halves[j] = bf16{};
    }
    return to;
  } else {
    return from;
  }
}

/// The same in depth form; `from` is read, and `to` written, in whole vectors.
template <class E>
inline PitchedTile<E> as_depth(PitchedTile<acc_t<E>> from, Extent size,
                               [[maybe_unused]] PitchedTile<E> to) {
  if constexpr (std::is_same_v<E, Bf16Pair>) {
    using V = Vector<float>;
    for (std::int64_t i = 0; i < steps<E>(size.rows) * 2; i += 2) {
      const bool one = i < size.rows, both = i + 1 < size.rows;
      for (std::int64_t j = 0; j < size.columns; j += kLanes<float>) {
        const V low = one ? load<V>(from.row(i) + j) : V{};
        const V high = both ? load<V>(from.row(i + 1) + j) : V{};
        store_words(to.row(i / 2) + j, pairs(rounded(low), rounded(high)));
      }
    }
    return to;
  } else {
    return from;
  }
}

/// The left factor of a product: step k of row i is data[i * row + k * column].
template <class E>
struct LeftFactor {
  const E* data;
  std::int64_t row, column;
};

/// The sums `from`, transposed, as a left factor: in depth form, or in rows form for products in
/// tiles.
template <class E>
inline LeftFactor<E> as_transposed(PitchedTile<acc_t<E>> from, Extent size, PitchedTile<E> by_depth,
                                   [[maybe_unused]] PitchedTile<E> by_rows) {
  const PitchedTile<E> depth = as_depth(from, size, by_depth);
  if constexpr (kInTiles<E>) {
    transpose(depth, {steps<E>(size.rows), size.columns}, by_rows);
    return {by_rows.data, by_rows.pitch, 1};
  } else {
    return {depth.data, 1, depth.pitch};
  }
}

}  // namespace fovea::ops::cpu::FOVEA_ISA::attention
