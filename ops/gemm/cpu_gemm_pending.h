// A product in tile registers, with its epilogue: a computed tile of C waits in memory and is
// finished between the steps of the next tile's product, so that tiles and vectors are busy at the
// same time.
#pragma once

#include "ops/common/cpu/tiles.h"
#include "ops/gemm/cpu_gemm_finish.h"
#include "ops/gemm/cpu_gemm_micro.h"

namespace fovea::ops::cpu::FOVEA_ISA {

/// T is C's type.
template <class T, class E>
class PendingTile {
 public:
  explicit PendingTile(const GemmCall& call) : call_(call) {}
  ~PendingTile() { finish(target_.rows); }
  PendingTile(const PendingTile&) = delete;
  PendingTile& operator=(const PendingTile&) = delete;

  /// Multiplies the tile of `target` and finishes the one before it.
  void multiply(std::int64_t depth, const Panel<E>& a, const Strip<E>& b,
                const TileTarget<T>& target) {
    const BlockProduct<E> product{.rows = target.rows,
                                  .columns = target.cols,
                                  .steps = depth / kTileSide,
                                  .a = a.data,
                                  .a_row = a.row,
                                  .a_step = a.step,
                                  .b = b.data,
                                  .b_row = b.step,
                                  .c = tiles_[1 - waiting_],
                                  .c_row = kNr<E>};
    multiply_block(product,
                   [&](std::int64_t step) { finish(target_.rows * (step + 1) / product.steps); });
    finish(target_.rows);  // without steps
    target_ = target;
    finished_ = 0;
    waiting_ = 1 - waiting_;
  }

 private:
  /// Finishes the rows before `end`.
  void finish(std::int64_t end) {
    finish_rows<E>(call_, target_, tiles_[waiting_], finished_, end);
    finished_ = end;
  }

  const GemmCall& call_;
  TileTarget<T> target_{};  ///< of the waiting tile; at first it has no rows
  std::int64_t finished_ = 0;
  int waiting_ = 0;
  alignas(64) float tiles_[2][kMr<E> * kNr<E>];
};

}  // namespace fovea::ops::cpu::FOVEA_ISA
