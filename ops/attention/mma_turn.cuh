// Rotary positions of attention on tensor cores: rows of q and k turn in shared memory, where their
// gradients turn back, too, so that no turned copy of q or k exists.
#pragma once

#include "ops/attention/mma_tile.cuh"
#include "ops/attention/turn.h"

namespace fovea::ops::cuda {

/// The angles of one image and head.
template <class M>
class MmaTurn {
 public:
  __device__ MmaTurn(const AttentionCall& c, std::int64_t image, std::int64_t head)
      : rotation_(c.rotation),
        image_(static_cast<int>(image)),
        group_(c.rotation.groups == 1 ? 0 : static_cast<int>(head)) {}
  [[nodiscard]] __device__ bool exists() const { return rotation_.cosines != nullptr; }

  /// Turns the rows of a tile, whose row 0 is token `begin` of `tokens`, by all threads of the
  /// block.
  template <class Tile>
  __device__ void rows(const Tile& tile, std::int64_t begin, std::int64_t tokens) const {
    const int warp = static_cast<int>(threadIdx.x) / kWarp;
    for (int row = 8 * warp + fragment_row(); row < Tile::kRows; row += 8 * kMmaWarps) {
      turn_row(tile, row, begin + row, tokens, false);
    }
  }
  /// Turns the streamed rows of a tile and, with the first one, the block's own rows, from token
  /// `begin` on. Returns whether there is a rotation.
  template <class Own, class Streamed>
  __device__ bool tile(int number, const Own& own, std::int64_t begin, std::int64_t own_tokens,
                       const Streamed& streamed, std::int64_t tokens) const {
    if (!exists()) return false;
    if (number == 0) rows(own, begin, own_tokens);
    rows(streamed, std::int64_t{Streamed::kRows} * number, tokens);
    return true;
  }
  /// Turns a warp's own rows of a gradient back, which its lanes have written.
  template <class Warp>
  __device__ void back(const Warp& warp, const typename Warp::Own& tile, std::int64_t begin,
                       std::int64_t tokens) const {
    if (!exists()) return;
    __syncwarp();
    for (int i = 0; i < Warp::kWarpRows; i += 8) {
      const int row = warp.first + i + fragment_row();
      turn_row(tile, row, begin + row, tokens, true);
    }
  }

 private:
  /// Eight rows at a time, each by four lanes, as fragments lie: their accesses have no conflicts.
  template <class Tile>
  __device__ void turn_row(const Tile& tile, int row, std::int64_t token, std::int64_t tokens,
                           bool back) const {
    const std::int64_t angles = token < tokens ? row_of_token(rotation_, image_, token) : -1;
    if (angles < 0) return;
    const int pairs = static_cast<int>(rotation_.pairs);
    const std::int64_t first = (group_ * rotation_.rows + angles) * pairs;
    const float* const cosines = static_cast<const float*>(rotation_.cosines) + first;
    const float* const sines = static_cast<const float*>(rotation_.sines) + first;
    if (!rotation_.halves) {
      FOVEA_ROLLED
      for (int column = fragment_column(); column < 2 * pairs; column += 8) {
        turn(tile.at(row, column), cosines[column / 2], sines[column / 2], back);
      }
      return;
    }
    FOVEA_ROLLED
    for (int pair = fragment_column(); pair < pairs; pair += 8) {
      turn(tile.at(row, pair), tile.at(row, pairs + pair), cosines + pair, sines + pair, back);
    }
  }

  /// One pair, of neighbours.
  __device__ static void turn(typename M::T* at, float cosine, float sine, bool back) {
    Pack<float, 2> pair = M::load(at);
    turn_pair(pair.v[0], pair.v[1], cosine, sine, back);
    M::store(at, pair.v[0], pair.v[1]);
  }
  /// Two pairs that are neighbours in both halves.
  __device__ static void turn(typename M::T* low, typename M::T* high, const float* cosines,
                              const float* sines, bool back) {
    Pack<float, 2> a = M::load(low), b = M::load(high);
    for (int i = 0; i < 2; ++i) turn_pair(a.v[i], b.v[i], cosines[i], sines[i], back);
    M::store(low, a.v[0], a.v[1]);
    M::store(high, b.v[0], b.v[1]);
  }

  const RotationView& rotation_;
  int image_, group_;
};

}  // namespace fovea::ops::cuda
