// What the attention kernels are given: softmax(q k^T scale + bias) v and its derivative. Shapes: q
// [B, H, N, D], k [B, H, M, D], v [B, H, M, E], output [B, H, N, E].
#pragma once

#include <cstdint>

#include "engine/dtype.h"
#include "engine/kernel.h"

namespace fovea::ops {

/// A tensor read as [batch, head, row, column]: its first element, and strides in elements.
struct AttentionView {
  void* data = nullptr;  ///< null: absent
  std::int64_t batch = 0, head = 0, row = 0, column = 0;
};

struct AttentionCall {
  DType dtype = DType::f32;  ///< of q, k, v and the output; bias and statistics have acc_t of it
  std::int64_t batch = 0, heads = 0, queries = 0, keys = 0;
  std::int64_t width = 0, value_width = 0;  ///< D and E
  double scale = 1;
  AttentionView q, k, v, bias, out;
  /// [2, B, H, N]: the maximum of each row of scores, and 1 / sum exp(score - maximum); both 0 for
  /// a row that is masked whole. They rebuild the probabilities. (The sum of the two in one
  /// logsumexp would lose what scores of 1e4 leave of an f32.) Null: not wanted.
  void* statistics = nullptr;
};

struct AttentionGradCall {
  AttentionCall forward;     ///< with its output and statistics
  AttentionView dy;          ///< [B, H, N, E]
  AttentionView dq, dk, dv;  ///< absent when not needed; overwritten

  /// Heads that share one bias: it is repeated along `share_batch` images and `share_heads` heads
  /// (1: not repeated). They are cut into `groups` runs; each run is done in order by one thread
  /// and has its own sum, [B / share_batch, H / share_heads, groups, rows, columns], zeros at
  /// first.
  std::int64_t share_batch = 1, share_heads = 1, groups = 1;
  AttentionView dbias;          ///< batch and head are unused; row or column is 0 where repeated
  std::int64_t dbias_size = 0;  ///< elements of one sum
};

struct AttentionKernels {
  Kernel<AttentionCall> forward;
  Kernel<AttentionGradCall> backward;
};

}  // namespace fovea::ops
