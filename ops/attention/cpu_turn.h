// The rotation of rows of one head: of sums and factors in tiles, which stay in the cache.
#pragma once

#include "ops/attention/cpu_tile.h"
#include "ops/attention/turn.h"

namespace fovea::ops::cpu::FOVEA_ISA::attention {

/// Turns the pairs of a row, or turns them back.
template <class A>
inline void turn_row(A* __restrict row, const A* cosines, const A* sines, const RotationView& r,
                     bool back) {
  if (r.halves) {
    A *low = row, *high = row + r.pairs;
    for (std::int64_t p = 0; p < r.pairs; ++p)
      turn_pair(low[p], high[p], cosines[p], sines[p], back);
    return;
  }
  for (std::int64_t p = 0; p < r.pairs; ++p)
    turn_pair(row[2 * p], row[2 * p + 1], cosines[p], sines[p], back);
}

/// The angles of one image and head.
template <class A>
class HeadTurn {
 public:
  HeadTurn(const RotationView& rotation, std::int64_t image, std::int64_t head)
      : rotation_(rotation), image_(image) {
    const std::int64_t group = rotation.groups == 1 ? 0 : head;
    first_ = group * rotation.rows * rotation.pairs;
  }

  /// Turns a token's row.
  void row(A* values, std::int64_t token, bool back) const {
    const std::int64_t row = row_of_token(rotation_, image_, token);
    if (row < 0) return;
    const std::int64_t at = first_ + row * rotation_.pairs;
    turn_row(values, static_cast<const A*>(rotation_.cosines) + at,
             static_cast<const A*>(rotation_.sines) + at, rotation_, back);
  }

  /// Turns the rows of `count` tokens in rows form; `wide` holds a row of floats for pairs of bf16.
  template <class E>
  void rows(PitchedTile<E> tile, std::int64_t token, std::int64_t count,
            [[maybe_unused]] float* wide) const {
    if (rotation_.cosines == nullptr) return;
    for (std::int64_t i = 0; i < count; ++i) {
      if constexpr (std::is_same_v<E, Bf16Pair>) {
        auto* const halves = reinterpret_cast<bf16*>(tile.row(i));
        convert(halves, 2 * tile.pitch, wide);
        row(wide, token + i, false);
        convert(wide, 2 * tile.pitch, halves);
      } else {
        row(tile.row(i), token + i, false);
      }
    }
  }

  /// Turns the rows of sums back.
  void back(PitchedTile<A> tile, std::int64_t token, std::int64_t count) const {
    if (rotation_.cosines == nullptr) return;
    for (std::int64_t i = 0; i < count; ++i) row(tile.row(i), token + i, true);
  }

 private:
  /// `count` is a whole number of vectors.
  template <class From, class To>
  static void convert(const From* from, std::int64_t count, To* to) {
    for (std::int64_t j = 0; j < count; j += kLanes<float>)
      store(to + j, load<Vector<float>>(from + j));
  }

  const RotationView& rotation_;
  std::int64_t image_, first_ = 0;
};

}  // namespace fovea::ops::cpu::FOVEA_ISA::attention
